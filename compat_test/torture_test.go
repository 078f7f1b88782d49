//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The torture test: many flock commands for one lock, in all forms and modes, while signals kill, stop and continue
// flock, its command, or both. What runs under the lock asks the kernel whether it is alone there.

const (
	tortured       = 9                // flock commands at a time
	torturePermits = 2                // of --permits
	tortureBound   = 60 * time.Second // by when all must be done once nobody is killed any more
)

// A form is a way to run the critical section under a lock, given as "$0 MODE".
type form struct {
	name   string
	words  func(options []string, section []string) []string
	killed []strike // what may happen to it without letting go of a lock that is in use
}

func aroundCommand(more ...string) func(options, section []string) []string {
	return func(options, section []string) []string {
		return slices.Concat([]string{oursPath}, more, options, []string{"f"}, section)
	}
}

// byNumber is a script with a lock on a descriptor, OPTIONS in $1. With a number the lock belongs to the script's
// descriptor or process, so what fails must end it.
const byNumber = `options=$1; shift
exec 9>>f
flock $options 9 || exit 0
"$@"
flock -u 9
`

var forms = []form{
	{"command", aroundCommand(), []strike{killFlock, killCommand, killBoth, killCommandFirst}},
	{"no-fork", aroundCommand("--no-fork"), []strike{killFlock}},
	// With --close flock itself is the owner: killing it alone frees the lock while its command runs.
	{"close", aroundCommand("--close"), []strike{killCommand, killCommandFirst}},
	{"string", func(options, section []string) []string {
		return slices.Concat([]string{oursPath}, options, []string{"f", "-c", "exec " + strings.Join(section, " ")})
	}, []strike{killFlock, killCommand, killBoth, killCommandFirst}},
	// Killing the script alone frees the directory lock while the section runs. What flock is here, is its child.
	{"number", func(options, section []string) []string {
		return slices.Concat([]string{"/bin/sh", "-c", byNumber, "sh", strings.Join(options, " ")}, section)
	}, []strike{killCommand, killCommandFirst}},
}

// tortureModes are the options of flock, by the mode of the critical section.
var tortureModes = map[string][]string{
	"exclusive": {"-x"},
	"shared":    {"-s"},
	"permit":    {"--permits", fmt.Sprint(torturePermits)},
}

func init() {
	if len(os.Args) == 4 && os.Args[1] == "critical-section" {
		criticalSection(os.Args[2], os.Args[3])
		os.Exit(0)
	}
}

// criticalSection is what runs under the lock. Its guard is a POSIX lock on another file: the kernel gives those up
// before it closes the descriptors of a dying process, so that no guard outlasts the lock that it guards.
func criticalSection(mode, guard string) {
	fd, err := unix.Open(guard, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		violation(guard, err.Error())
		return
	}
	set := func(kind int16, start, length int64) bool {
		for {
			err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: kind, Start: start, Len: length})
			if err != unix.EINTR {
				return err == nil
			}
		}
	}
	// Byte 0 is for the lock itself, the others are for one permit each.
	ok := false
	switch mode {
	case "exclusive":
		ok = set(unix.F_WRLCK, 0, 1+torturePermits)
	case "shared":
		ok = set(unix.F_RDLCK, 0, 1)
	case "permit":
		ok = set(unix.F_RDLCK, 0, 1)
		// While one is passed over, another that was passed over can become free; not again and again.
		for i, got := int64(0), !ok; !got; i++ {
			got = set(unix.F_WRLCK, 1+i%torturePermits, 1)
			ok = got
			if i == 5*torturePermits {
				break
			}
		}
	}
	if !ok {
		violation(guard, mode)
	}
	longest := 4 * time.Millisecond
	if rand.N(4) == 0 { // long enough that others look several times whether the owner lives
		longest = 150 * time.Millisecond
	}
	time.Sleep(rand.N(longest))
	if f, err := os.OpenFile(guard+".done", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err == nil {
		fmt.Fprintln(f, mode)
		f.Close()
	}
	unix.Close(fd)
}

func violation(guard, what string) {
	f, _ := os.OpenFile(guard+".violations", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	locks, _ := os.ReadFile("/proc/locks")
	fmt.Fprintf(f, "process %d, %s: not alone\n%s", os.Getpid(), what, locks)
	f.Close()
}

// TestTorture runs for some seconds each way, and as long as the environment variable FLOCK_TORTURE says, such as 5m.
func TestTorture(t *testing.T) {
	notInCheck(t)
	needOurs(t)
	long := 4 * time.Second
	if s := os.Getenv("FLOCK_TORTURE"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, way := range []string{"native", "directory"} {
		t.Run(way, func(t *testing.T) {
			if way == "directory" {
				needDirectoryLock(t)
			}
			torture(t, way, long)
		})
	}
}

func torture(t *testing.T, way string, long time.Duration) {
	dir, guard := t.TempDir(), filepath.Join(t.TempDir(), "guard")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(guard + ".stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	env := append(os.Environ(), "FLOCK_BACKEND="+way, "SHELL=/bin/sh",
		"PATH="+filepath.Dir(oursPath)+":"+os.Getenv("PATH"))
	end := time.Now().Add(long)
	family := adopt(t, dir, env, stderr)
	defer family.disband()

	var counts [strikes]atomic.Int64
	var runs atomic.Int64
	var group sync.WaitGroup
	for range tortured {
		group.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				f := forms[rand.N(len(forms))]
				// most often a permit: for these more than one must be there to get in
				mode := []string{"exclusive", "exclusive", "shared", "permit", "permit", "permit"}[rand.N(6)]
				p, err := family.start(f.words(tortureModes[mode], []string{self, "critical-section", mode, guard}))
				if err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
				s := spare
				if r := rand.N(10); r < 5 {
					s = f.killed[rand.N(len(f.killed))]
				} else if r < 8 {
					s = []strike{stopFlock, stopCommand, stopBoth}[rand.N(3)]
				}
				counts[s].Add(1)
				if rand.N(2) == 0 {
					p.inside() // most of the time it waits
				}
				time.Sleep(rand.N(30 * time.Millisecond))
				p.suffer(s)
				limit := time.Until(end) + tortureBound
				status, ok := p.wait(limit)
				switch {
				case !ok:
					t.Errorf("%s, %s, %s: still there %v later", f.name, mode, s, limit)
				case s < killFlock && status != 0:
					t.Errorf("%s, %s, %s: status %#x", f.name, mode, s, int(status))
				}
			}
		})
	}
	group.Wait()

	var told strings.Builder
	for s := range strikes {
		fmt.Fprintf(&told, ", %s %d", s, counts[s].Load())
	}
	done, _ := os.ReadFile(guard + ".done")
	t.Logf("%d runs%s; %d sections finished", runs.Load(), &told, strings.Count(string(done), "\n"))
	said, _ := os.ReadFile(stderr.Name())
	if said := strings.ReplaceAll(string(said), "Killed\n", ""); said != "" { // that is what sh says
		t.Errorf("on standard error:\n%s", said)
	}
	if text, err := os.ReadFile(guard + ".violations"); err == nil {
		t.Errorf("the lock was broken:\n%s", text)
	}
	for _, mode := range []string{"exclusive", "shared", "permit"} {
		if !strings.Contains(string(done), mode) {
			t.Errorf("no %s section was ever finished", mode)
		}
	}
	settled(t, family, dir, way)
}

// settled asserts that nobody is stuck, the lock is free, and nothing is left but the state directory.
func settled(t *testing.T, family *family, dir, way string) {
	run := func(words ...string) syscall.WaitStatus {
		p, err := family.start(append([]string{oursPath}, words...))
		if err != nil {
			t.Fatal(err)
		}
		status, ok := p.wait(tortureBound)
		if !ok {
			t.Errorf("flock %q does not end", words)
			p.suffer(killBoth)
		}
		return status
	}
	// commands that have lost their flock may go on for a moment
	if status := run("-w", "30", "f", "true"); status != 0 {
		t.Errorf("the lock is not free in the end: status %#x", int(status))
	}
	if status := run("-n", "f", "true"); status != 0 {
		t.Errorf("the free lock is not to be had: status %#x", int(status))
	}
	want := []string{"f"}
	if way == "directory" {
		want = []string{".f.flock", "f"}
		if names := namesIn(t, filepath.Join(dir, ".f.flock")); !slices.Equal(names, []string{"free"}) {
			t.Errorf("in the state directory: %q", names)
		}
	}
	if names := namesIn(t, dir); !slices.Equal(names, want) {
		t.Errorf("beside the lock file: %q", names)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
