//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The torture test: many flock commands take one lock, in all forms and modes, while signals kill, stop and continue
// flock, its command, or both. The command asks the kernel whether any other command runs under the lock.

const (
	tortureProcesses = 9                // flock commands at a time
	torturePermits   = 2                // of --permits
	tortureBound     = 60 * time.Second // by when all must have ended after the last kill
)

// A form is a way to run the critical section under a lock.
type form struct {
	name   string
	words  func(options []string, section []string) []string
	faults []fault // those that do not release the lock while the section still runs
}

func aroundCommand(more ...string) func(options, section []string) []string {
	return func(options, section []string) []string {
		return slices.Concat([]string{oursPath}, more, options, []string{"f"}, section)
	}
}

// byNumber is a script that locks a descriptor, with the options in $1. The lock belongs to the descriptor or the
// process of the script, so the script must end if flock fails. Which permit it has, it learns from a command.
const byNumber = `options=$1; shift
exec 9>>f
case $options in
--permits*) FLOCK_PERMIT=$(flock $options --fd 9 printenv FLOCK_PERMIT) && export FLOCK_PERMIT || exit 0 ;;
*) flock $options 9 || exit 0 ;;
esac
"$@"
flock -u 9
`

var forms = []form{
	{"command", aroundCommand(), []fault{killFlock, killCommand, killBoth, killCommandFirst}},
	{"no-fork", aroundCommand("--no-fork"), []fault{killFlock}},
	// With --close flock itself is the owner: killing it alone would release the lock while its command runs.
	{"close", aroundCommand("--close"), []fault{killCommand, killCommandFirst}},
	{"string", func(options, section []string) []string {
		return slices.Concat([]string{oursPath}, options, []string{"f", "-c", "exec " + strings.Join(section, " ")})
	}, []fault{killFlock, killCommand, killBoth, killCommandFirst}},
	// Killing the script alone would release the directory lock while the section runs. Here flock is the child of the
	// script.
	{"number", func(options, section []string) []string {
		return slices.Concat([]string{"/bin/sh", "-c", byNumber, "sh", strings.Join(options, " ")}, section)
	}, []fault{killCommand, killCommandFirst}},
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

// criticalSection runs under the lock. It takes a second lock, the guard: a POSIX lock on another file. When a process
// dies, the kernel releases its POSIX locks before it closes its descriptors, so the guard ends before the lock does.
func criticalSection(mode, guard string) {
	j := openJudge(guard)
	set := func(kind int16, start, length int64) bool { return j.ask(unix.F_SETLK, kind, start, length) == 0 }
	// Byte 0 is for the lock itself, the others are for one permit each, by its number.
	ok := false
	switch mode {
	case "exclusive":
		ok = set(unix.F_WRLCK, 0, 1+torturePermits)
	case "shared":
		ok = set(unix.F_RDLCK, 0, 1)
	case "permit":
		number, err := strconv.Atoi(os.Getenv("FLOCK_PERMIT"))
		ok = err == nil && 1 <= number && number <= torturePermits &&
			set(unix.F_RDLCK, 0, 1) && set(unix.F_WRLCK, int64(number), 1)
		mode += " " + os.Getenv("FLOCK_PERMIT")
	}
	if !ok {
		reportViolation(guard, mode)
	}
	longest := 4 * time.Millisecond
	if rand.N(4) == 0 { // long enough for others to check several times whether the owner lives
		longest = 150 * time.Millisecond
	}
	time.Sleep(rand.N(longest))
	noteIn(guard+".done", mode)
	unix.Close(j.fd)
}

func reportViolation(guard, what string) {
	locks, _ := os.ReadFile("/proc/locks")
	noteIn(guard+".violations", fmt.Sprintf("process %d, %s: not alone\n%s", os.Getpid(), what, locks))
}

// noteIn adds a line to a file.
func noteIn(name, what string) {
	if f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err == nil {
		fmt.Fprintln(f, what)
		f.Close()
	}
}

// tortureDuration returns how long to run for each backend: what the environment variable FLOCK_TORTURE says, such as
// 5m, or one second. Forms, modes and faults are drawn at random, so each run tries others.
func tortureDuration(t *testing.T) time.Duration {
	s := os.Getenv("FLOCK_TORTURE")
	if s == "" {
		return time.Second
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTorture runs for tortureDuration with each backend.
func TestTorture(t *testing.T) {
	skipInCheck(t)
	long := tortureDuration(t)
	runEachBackend(t, func(t *testing.T, dir string, env []string) { torture(t, dir, env, long) })
}

// A tortureGround is where critical sections run, and what they note.
type tortureGround struct {
	dir, guard, self string
	reaper           *reaper
}

// newTortureGround has the sections run in the directory dir. Until its reaper is stopped, no other child can be waited
// for.
func newTortureGround(t *testing.T, dir string, env []string) *tortureGround {
	t.Helper()
	g := &tortureGround{dir: dir, guard: filepath.Join(t.TempDir(), "guard"), self: selfPath(t)}
	stderr, err := os.Create(g.guard + ".stderr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stderr.Close() })
	g.reaper = startReaper(t, dir, append(env, "SHELL=/bin/sh"), stderr)
	return g
}

// start starts a critical section under a lock.
func (g *tortureGround) start(way form, mode string) (*process, error) {
	return g.reaper.start(way.words(tortureModes[mode], []string{g.self, "critical-section", mode, g.guard}))
}

// violations returns what the sections noted that were not alone.
func (g *tortureGround) violations() string { return g.noted(".violations") }

// finished counts the sections that came to their end.
func (g *tortureGround) finished() int { return strings.Count(g.noted(".done"), "\n") }

func (g *tortureGround) noted(name string) string {
	text, _ := os.ReadFile(g.guard + name)
	return string(text)
}

// checkOutput finds fault with what was printed.
func (g *tortureGround) checkOutput(t *testing.T) {
	t.Helper()
	// What sh prints, and what waiters say when flock is stopped for long while it has the token.
	expected := regexp.MustCompile(
		`(?m)^(Killed|flock: waiting: held by process \d+, which is taking or releasing it)\n`)
	if text := expected.ReplaceAllString(g.noted(".stderr"), ""); text != "" {
		t.Errorf("on standard error:\n%s", text)
	}
}

// unfinished names the modes of which no section has come to its end.
func (g *tortureGround) unfinished() (modes []string) {
	done := g.noted(".done")
	for _, mode := range []string{"exclusive", "shared", "permit"} {
		if !strings.Contains(done, mode) {
			modes = append(modes, mode)
		}
	}
	return modes
}

// goOn reports whether a torture goes on: until end, and then until enough of what is drawn at random has happened,
// which a loaded machine may not do before, but at most for tortureBound.
func goOn(end time.Time, enough func() bool) bool {
	now := time.Now()
	return now.Before(end) || now.Before(end.Add(tortureBound)) && !enough()
}

func torture(t *testing.T, dir string, env []string, long time.Duration) {
	ground := newTortureGround(t, dir, env)
	defer ground.reaper.stop()
	end := time.Now().Add(long)

	var counts [faults]atomic.Int64
	var runs atomic.Int64
	var group sync.WaitGroup
	for range tortureProcesses {
		group.Go(func() {
			for !t.Failed() && goOn(end, func() bool { return len(ground.unfinished()) == 0 }) {
				f := forms[rand.N(len(forms))]
				// permits most often: only two at once show whether more than one holder is allowed
				mode := []string{"exclusive", "exclusive", "shared", "permit", "permit", "permit"}[rand.N(6)]
				p, err := ground.start(f, mode)
				if err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
				s := noFault
				if r := rand.N(10); r < 5 {
					s = f.faults[rand.N(len(f.faults))]
				} else if r < 8 {
					s = []fault{stopFlock, stopCommand, stopBoth}[rand.N(3)]
				}
				counts[s].Add(1)
				if rand.N(2) == 0 {
					p.waitInside() // without this, most faults would hit a process that waits for the lock
				}
				time.Sleep(rand.N(30 * time.Millisecond))
				p.inject(s)
				p.mustEnd(t, end, s < killFlock, fmt.Sprintf("%s, %s, %s", f.name, mode, s))
			}
		})
	}
	group.Wait()

	var summary strings.Builder
	for s := range faults {
		fmt.Fprintf(&summary, ", %s %d", s, counts[s].Load())
	}
	t.Logf("%d runs%s; %d sections finished", runs.Load(), &summary, ground.finished())
	if text := ground.violations(); text != "" {
		t.Errorf("the lock was broken:\n%s", text)
	}
	ground.checkOutput(t)
	if modes := ground.unfinished(); len(modes) > 0 {
		t.Errorf("no section was ever finished: %q", modes)
	}
	ground.expectNothingLeft(t)
}

// expectNothingLeft asserts that the lock is free, and that nothing is left but the state directory.
func (g *tortureGround) expectNothingLeft(t *testing.T) {
	run := func(words ...string) syscall.WaitStatus {
		p, err := g.reaper.start(append([]string{oursPath}, words...))
		if err != nil {
			t.Fatal(err)
		}
		status, ok := p.wait(tortureBound)
		if !ok {
			t.Errorf("flock %q does not end", words)
			p.inject(killBoth)
		}
		return status
	}
	// commands whose flock was killed may still run for a moment
	if status := run("-w", "30", "f", "true"); status != 0 {
		t.Errorf("the lock is not free at the end: status %#x", int(status))
	}
	if status := run("-n", "f", "true"); status != 0 {
		t.Errorf("the free lock cannot be taken: status %#x", int(status))
	}
	want := []string{"f"}
	if strings.HasSuffix(t.Name(), "/directory") {
		want = []string{".f.flock", "f"}
		if names := namesIn(t, filepath.Join(g.dir, ".f.flock")); !slices.Equal(names, []string{"free"}) {
			t.Errorf("in the state directory: %q", names)
		}
	}
	if names := namesIn(t, g.dir); !slices.Equal(names, want) {
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
