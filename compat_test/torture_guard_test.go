//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The torture of --limit and --kill-children: many flock commands take one lock, and their commands start processes,
// some in sessions of their own, some that ignore SIGTERM. Signals kill and stop all of them at random, but never kill
// both flock and its guard. All processes ask the kernel whether whoever has the lock runs beside one of an earlier
// holder.

func init() {
	if len(os.Args) == 4 && os.Args[1] == "tree-command" {
		treeCommand(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if len(os.Args) == 5 && os.Args[1] == "tree-member" {
		treeMember(os.Args[2], os.Args[3], os.Args[4])
		os.Exit(0)
	}
}

// A treeJudge is a file on which the processes of the trees have POSIX locks: a command locks one byte for itself, the
// processes that it has started share another. When a process dies, they end before the lock does that it has
// inherited.
type treeJudge struct {
	name string
	fd   int
}

const (
	commandByte = iota
	memberByte
)

func openJudge(name string) treeJudge {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		reportViolation(name, err.Error())
		os.Exit(1)
	}
	return treeJudge{name, fd}
}

// ask calls the kernel for a lock, or to tell who is in its way, and returns that process; -1: it is not told.
func (j treeJudge) ask(command int, kind int16, at, length int64) (owner int) {
	for {
		l := unix.Flock_t{Type: kind, Start: at, Len: length}
		switch err := unix.FcntlFlock(uintptr(j.fd), command, &l); {
		case err == unix.EINTR:
		case err != nil:
			return -1
		case command == unix.F_GETLK && l.Type != unix.F_UNLCK:
			return int(l.Pid)
		default:
			return 0
		}
	}
}

func (j treeJudge) lock(kind int16, at int64) { // F_SETLKW would wait for whoever must not be there
	if j.ask(unix.F_SETLK, kind, at, 1) != 0 {
		reportViolation(j.name, fmt.Sprint("the lock of byte ", at))
	}
}

func (j treeJudge) owner(at int64) (pid int) { return j.ask(unix.F_GETLK, unix.F_WRLCK, at, 1) }

// What a tree may do, letters of a word.
const (
	lasts  = "l" // the command runs until the limit, at times
	leaves = "o" // processes are left behind
)

// treeCommand is the command of a run.
func treeCommand(name, may string) {
	j := openJudge(name)
	j.lock(unix.F_WRLCK, commandByte)
	if pid := j.owner(memberByte); pid != 0 {
		reportViolation(name, fmt.Sprintf("process %d of an earlier holder is there", pid))
	}
	ignoreTermAtTimes()
	members := startMembers(name, may, os.Getpid(), 4)
	longest := 60 * time.Millisecond
	if strings.Contains(may, lasts) && rand.N(3) == 0 {
		longest = time.Minute
	}
	time.Sleep(rand.N(longest))
	if !strings.Contains(may, leaves) || rand.N(3) == 0 {
		members.Wait()
	}
	if pid := j.owner(commandByte); pid != 0 {
		reportViolation(name, fmt.Sprintf("process %d is a holder, too", pid))
	}
	noteIn(name+".done", "done")
}

func ignoreTermAtTimes() {
	if rand.N(3) == 0 {
		signal.Ignore(unix.SIGTERM)
	} else {
		signal.Reset(unix.SIGTERM) // whose parent ignores it
	}
}

// startMembers starts fewer processes than most, which start others, too. They can be waited for.
func startMembers(name, may string, command, most int) *sync.WaitGroup {
	var ends sync.WaitGroup
	self, err := os.Executable()
	for range rand.N(most) {
		var pid int
		if err == nil {
			pid, err = syscall.ForkExec(self, []string{self, "tree-member", name, may, fmt.Sprint(command)},
				&syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: rand.N(2) == 0}})
		}
		if err != nil {
			reportViolation(name, err.Error())
			continue
		}
		ends.Go(func() { syscall.Wait4(pid, nil, 0, nil) })
	}
	return &ends
}

// treeMember is a process that the command, or such a process, has started.
func treeMember(name, may, command string) {
	j := openJudge(name)
	j.lock(unix.F_RDLCK, memberByte)
	ignoreTermAtTimes()
	var own int
	fmt.Sscan(command, &own)
	members := startMembers(name, may, own, 2)
	end := time.Now().Add(rand.N(300 * time.Millisecond))
	for ; time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if pid := j.owner(commandByte); pid != 0 && pid != own {
			reportViolation(name, fmt.Sprintf("this one of the earlier holder %d runs beside the holder %d", own, pid))
		}
	}
	if !strings.Contains(may, leaves) {
		members.Wait()
	}
}

// A treeRun is a flock with what it runs.
type treeRun struct {
	*process
	limited bool       // there is a limit
	free    bool       // all but flock and guard may be killed
	ends    bool       // all others are ended, even if they are stopped
	stopped []*process // flock and guard
	others  []*process // that are stopped
}

// guard returns the guard, with the descriptor -1 if there is none.
func (r *treeRun) guard() *process {
	for _, child := range children(r.pid) {
		return openChild(child, r.pid)
	}
	return &process{fd: -1}
}

// member returns the command or one of its descendants, at random; with the descriptor -1 if there is none.
func (r *treeRun) member() *process {
	var members [][2]int // with their parents
	for parents := children(r.pid); len(parents) > 0; parents = parents[1:] {
		for _, child := range children(parents[0]) {
			parents = append(parents, child)
			members = append(members, [2]int{child, parents[0]})
		}
	}
	if len(members) == 0 {
		return &process{fd: -1}
	}
	one := members[rand.N(len(members))]
	return openChild(one[0], one[1])
}

// stop stops a process until goOn.
func stop(p *process, list *[]*process) {
	p.signal(unix.SIGSTOP)
	*list = append(*list, p)
}

// goOn continues the processes that are stopped: the others, if flock ends them, only at times.
func (r *treeRun) goOn() {
	stay := r.ends && rand.N(2) == 0
	for _, p := range r.others {
		if !stay {
			p.signal(unix.SIGCONT)
		}
		unix.Close(p.fd)
	}
	for _, p := range r.stopped {
		p.signal(unix.SIGCONT)
		if p != r.process {
			unix.Close(p.fd)
		}
	}
}

// disturb kills and stops some processes of the run, and returns what it did.
func (r *treeRun) disturb() (what string) {
	do := func(name string, f func()) {
		time.Sleep(rand.N(30 * time.Millisecond))
		what += ", " + name
		f()
	}
	for range rand.N(4) {
		switch n := rand.N(6); {
		case n == 0:
			do("flock stopped", func() { stop(r.process, &r.stopped) })
		case n == 1:
			do("guard stopped", func() { stop(r.guard(), &r.stopped) })
		case n < 4:
			do("one stopped", func() { stop(r.member(), &r.others) })
		case r.free:
			do("one killed", func() { p := r.member(); p.kill() })
		}
	}
	switch rand.N(4) {
	case 0:
		do("flock killed", func() { r.signal(unix.SIGKILL) })
	case 1:
		do("guard killed", func() { p := r.guard(); p.kill() })
	}
	time.Sleep(rand.N(150 * time.Millisecond)) // often beyond the limit
	r.goOn()
	return what
}

// treeForms are the options of a run, and what its tree may do. A process that is left behind in time lives on, and
// with --close without the lock: there nothing may be left behind, unless it is ended.
var treeForms = []struct {
	words, may string
	ends       bool // all that is stopped
}{
	{"--limit", lasts + leaves, false},
	{"--kill-children", leaves, false},
	{"--limit --kill-children", lasts + leaves, true},
	{"--close --limit", lasts, true},
	{"--close --kill-children", leaves, false},
	{"--close --limit --kill-children", lasts + leaves, true},
}

// start starts a run at random, and returns what it is.
func startTree(ground *tortureGround, program string) (run *treeRun, what string, err error) {
	form := treeForms[rand.N(len(treeForms))]
	limit := fmt.Sprintf("%.3f", (20*time.Millisecond + rand.N(150*time.Millisecond)).Seconds())
	words := strings.Replace(form.words, "--limit", "--limit "+limit, 1)
	argv := append([]string{program}, strings.Fields(words)...)
	p, err := ground.reaper.start(append(argv, "f", ground.self, "tree-command", ground.guard, form.may))
	return &treeRun{process: p, limited: strings.Contains(form.may, lasts), free: strings.Contains(form.may, leaves),
		ends: form.ends}, words, err
}

// withShortGrace builds a flock that sends SIGKILL a tenth of a second after SIGTERM.
func withShortGrace(t *testing.T) (program string) {
	if os.Getenv("FLOCK_UNDER_TEST") != "" {
		t.Skip("another flock is tested")
	}
	return mutant{name: "grace", file: "internal/guard/clock.go",
		before: "var grace = 10 * time.Second", after: "var grace = 100 * time.Millisecond"}.build(t)
}

// TestTortureOfGuards runs for tortureDuration with each backend.
func TestTortureOfGuards(t *testing.T) {
	skipInCheck(t)
	needOurs(t)
	long, program := tortureDuration(t), withShortGrace(t)
	runEachBackend(t, func(t *testing.T, dir string, env []string) { tortureGuards(t, dir, env, program, long) })
}

func tortureGuards(t *testing.T, dir string, env []string, program string, long time.Duration) {
	ground := newTortureGround(t, dir, env)
	defer ground.reaper.stop()
	end := time.Now().Add(long)
	var runs, disturbed atomic.Int64
	isEnough := func() bool {
		stderr := ground.noted(".stderr")
		for _, fate := range treeFates {
			if !strings.Contains(stderr, fate) {
				return false
			}
		}
		return ground.finished() > 0
	}
	var group sync.WaitGroup
	for range tortureProcesses {
		group.Go(func() {
			for !t.Failed() && goOn(end, isEnough) {
				run, what, err := startTree(ground, program)
				if err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
				done := ""
				if rand.N(5) > 0 {
					run.waitForTree(rand.N(3) > 0)
					done = run.disturb()
				}
				if done != "" {
					disturbed.Add(1)
				}
				left := time.AfterFunc(max(time.Until(end), 0)+tortureBound-5*time.Second, func() {
					t.Errorf("%s%s: still there, with these processes:\n%s", what, done, processesOf(-1, ground.dir))
				})
				status, ok := run.wait(max(time.Until(end), 0) + tortureBound)
				left.Stop()
				isUsual := status == 0 || run.limited && status.ExitStatus() == 124
				if !ok || done == "" && !isUsual {
					t.Errorf("%s%s: ended: %v, status %#x", what, done, ok, int(status))
				}
			}
		})
	}
	group.Wait()
	stderr := ground.noted(".stderr")
	summary := ""
	for _, fate := range treeFates {
		summary += fmt.Sprintf(", %q %d", fate, strings.Count(stderr, fate))
	}
	t.Logf("%d runs, %d of them disturbed; %d commands finished%s",
		runs.Load(), disturbed.Load(), ground.finished(), summary)
	if text := ground.violations(); text != "" {
		t.Errorf("the lock was broken:\n%s", text)
	}
	if text := treeLines.ReplaceAllString(stderr, ""); text != "" {
		t.Errorf("on standard error:\n%s", text)
	}
	if !isEnough() {
		t.Errorf("something of what is to be tested has never happened")
	}
	ground.expectNothingLeft(t)
}

// treeFates are what is said when a run ends in each way that it can.
var treeFates = []string{"terminating it", "did not exit after SIGTERM and is killed", "the guard of"}

// treeLines are what may be printed.
var treeLines = guardLines(`\S+ exceeded its limit of \S+ s; terminating it`)

// guardLines returns what a flock with a guard may print, and one more line.
func guardLines(more string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\S+: (` + more + `|process \d+( \(.*\))? did not exit after SIGTERM and is killed|` +
		`the guard of \S+ was killed, and so were all its descendants|` + strings.TrimSuffix(busyLine, `\n`) + `)\n`)
}

// waitForTree waits until a guard of the run is there and, if inside, its command, but no longer than a second.
func (r *treeRun) waitForTree(inside bool) {
	for range 500 {
		for _, guard := range children(r.pid) {
			text, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(guard), "cmdline"))
			if strings.HasPrefix(string(text), "lock-guard") && (!inside || len(children(guard)) > 0) {
				return
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}
