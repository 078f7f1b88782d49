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

// The torture of --replace: round after round some runs come, at one moment or one after the other, plain holders among
// them. In most rounds flocks that wait or have the lock, and guards, are killed and stopped. No command ends by itself
// until all runs but one are gone: then that one is the newest, unless that was killed, and it completes.

const (
	replacedStatus = 77 // of -E
	replaceRounds  = 500
	replaceWorkers = 3 // rounds at a time, each with a lock of its own
)

func init() {
	if len(os.Args) == 5 && os.Args[1] == "replace-command" {
		replaceCommand(os.Args[2], os.Args[3], os.Args[4])
		os.Exit(0)
	}
}

// replaceCommand is the command of a run, with what it starts. It ends when there is a file called end.
func replaceCommand(name, what, end string) {
	j := openJudge(name)
	j.lock(unix.F_WRLCK, commandByte)
	if pid := j.owner(memberByte); pid != 0 {
		reportViolation(name, fmt.Sprintf("process %d of an earlier holder is there", pid))
	}
	ignoreTermAtTimes()
	noteIn(name+".begun", what)
	members := startMembers(name, "", os.Getpid(), 3)
	for !exists(end) {
		time.Sleep(2 * time.Millisecond)
	}
	members.Wait()
	noteIn(name+".done", what)
}

// replaceOptions are those besides --replace.
var replaceOptions = []string{"", "", "-o", "--kill-children", "-o --kill-children", "--limit 1000", "-w 1000",
	"--report 1000"}

// replaceWays are how a run is started: in some it cannot be rung, or cannot ring others.
var replaceWays = map[string]func(ground *tortureGround, words []string) []string{
	"": func(_ *tortureGround, words []string) []string { return words },
	"no socket": func(ground *tortureGround, words []string) []string {
		return append([]string{ground.self, "without-sockets"}, words...)
	},
	"no /proc/net": func(_ *tortureGround, words []string) []string {
		hide := `mount -t tmpfs none "/proc/$$/net" 2>/dev/null && exec "$@"`
		return append([]string{"/usr/bin/unshare", "-m", "/bin/sh", "-c", hide, "sh"}, words...)
	},
	"another network namespace": func(_ *tortureGround, words []string) []string {
		return append([]string{"/usr/bin/unshare", "-n"}, words...)
	},
}

// A replaceRun is a flock with --replace.
type replaceRun struct {
	*process
	what   string
	ticket int64 // 0: it was not seen
	killed bool  // or its guard was
	ended  bool
	end    syscall.WaitStatus
}

// look notes the ticket, and whether the run has ended.
func (r *replaceRun) look() {
	if r.ticket == 0 {
		r.ticket = ticketOf(r.pid)
	}
	select {
	case r.end = <-r.status:
		r.ended = true
		unix.Close(r.fd)
	default:
	}
}

var ticketLine = regexp.MustCompile(`OFDLCK .* (230584301350\d+) \d+\n`)

// ticketOf returns the byte that stands for the ticket of a process, 0 if it has none.
func ticketOf(pid int) (ticket int64) {
	dir := fmt.Sprintf("/proc/%d/fdinfo", pid)
	names, _ := os.ReadDir(dir)
	for _, name := range names {
		text, _ := os.ReadFile(filepath.Join(dir, name.Name()))
		if m := ticketLine.FindSubmatch(text); m != nil {
			ticket, _ = strconv.ParseInt(string(m[1]), 10, 64)
		}
	}
	return ticket
}

// disturb kills or stops flock or the guard. What is stopped stays so until goOn is called.
func (r *replaceRun) disturb() (goOn func()) {
	goOn = func() {}
	one := r.process
	isGuard := rand.N(2) == 0
	if isGuard {
		if one = (&treeRun{process: r.process}).guard(); one.fd < 0 {
			return
		}
	}
	if rand.N(2) == 0 {
		r.what += ", killed"
		r.killed = true
		one.signal(unix.SIGKILL)
	} else {
		r.what += ", stopped"
		one.signal(unix.SIGSTOP)
		goOn = func() { one.signal(unix.SIGCONT) }
	}
	if isGuard {
		r.what += " (its guard)"
		before := goOn
		goOn = func() { before(); unix.Close(one.fd) }
	}
	return goOn
}

// A replaceRound is one burst of runs for the lock in a directory.
type replaceRound struct {
	*testing.T
	ground  *tortureGround
	program string
	dir     string // of the lock file, below that of the ground
	judge   string
	ways    []string
	runs    []*replaceRun
	plain   []*process
}

// come starts a run.
func (r *replaceRound) come(way string) {
	options := replaceOptions[rand.N(len(replaceOptions))]
	what := fmt.Sprintf("%d: %s %s", len(r.runs), options, way)
	words := slices.Concat([]string{r.program}, strings.Fields(options), []string{"--replace",
		"-E", fmt.Sprint(replacedStatus), r.dir + "/f", r.ground.self, "replace-command", r.judge, what, r.dir + "/end"})
	p, err := r.ground.reaper.start(replaceWays[way](r.ground, words))
	if err != nil {
		r.Error(err)
		return
	}
	r.runs = append(r.runs, &replaceRun{process: p, what: what})
}

// comePlain starts a holder without --replace, which ends by itself.
func (r *replaceRound) comePlain() {
	section := []string{r.ground.self, "replace-command", r.judge, "plain", "/"}
	p, err := r.ground.reaper.start(append([]string{r.program, r.dir + "/f"}, section...))
	if err != nil {
		r.Error(err)
		return
	}
	r.plain = append(r.plain, p)
}

// play starts the runs, disturbs them, and waits until no more than one is left, which then completes.
func (r *replaceRound) play() {
	way, pause := r.ways[rand.N(len(r.ways))], time.Duration(0)
	if rand.N(2) == 0 {
		pause = 30*time.Millisecond + rand.N(70*time.Millisecond)
	}
	isDisturbed := rand.N(3) > 0
	var goOn []func()
	for range 2 + rand.N(11) {
		if rand.N(6) == 0 {
			r.comePlain()
		}
		if r.come(way); way != "" && rand.N(2) == 0 {
			way = ""
		}
		time.Sleep(pause)
		if isDisturbed && rand.N(2) == 0 && len(r.runs) > 0 {
			goOn = append(goOn, r.runs[rand.N(len(r.runs))].disturb())
		}
	}
	r.settle(rand.N(1500 * time.Millisecond))
	for _, f := range goOn {
		f()
	}
	if !r.settle(tortureBound) {
		r.Errorf("more than one is still there:\n%s", r.story())
	}
	if err := os.WriteFile(filepath.Join(r.ground.dir, r.dir, "end"), nil, 0o666); err != nil {
		r.Error(err)
	}
	r.judgeRuns()
	for _, p := range r.plain {
		if status, ok := p.wait(tortureBound); !ok || status != 0 {
			r.Errorf("a plain holder has ended: %v, status %#x\n%s", ok, int(status), r.story())
		}
	}
	os.Remove(filepath.Join(r.ground.dir, r.dir, "end"))
}

// settle waits until at most one run is left, and reports whether that is so.
func (r *replaceRound) settle(limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(3 * time.Millisecond) {
		left := 0
		for _, run := range r.runs {
			if !run.ended {
				if run.look(); !run.ended {
					left++
				}
			}
		}
		if left <= 1 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// judgeRuns waits for the last one, and looks whether all have ended as they should.
func (r *replaceRound) judgeRuns() {
	isKilled := func(run *replaceRun) bool { return run.killed }
	var winner *replaceRun
	for _, run := range r.runs {
		if !run.ended {
			run.end, run.ended = run.wait(tortureBound)
			if !run.ended {
				r.Errorf("still there:\n%s\n%s", r.story(), processesOf(-1, r.ground.dir))
			}
		}
		switch {
		case run.end == 0 && winner == nil:
			winner = run
		case run.end == 0:
			r.Errorf("two have completed:\n%s", r.story())
		case run.end.ExitStatus() != replacedStatus && !run.killed:
			r.Errorf("status %#x:\n%s", int(run.end), r.story())
		}
	}
	// When the newest one is killed, an older one may have seen it already. The next one gets a lower ticket then.
	if slices.ContainsFunc(r.runs, isKilled) {
		return
	}
	if winner == nil {
		r.Errorf("none has completed:\n%s", r.story())
		return
	}
	for _, run := range r.runs {
		if run != winner && run.ticket != 0 && winner.ticket != 0 && run.ticket >= winner.ticket {
			r.Errorf("not the newest one has completed, %q:\n%s", winner.what, r.story())
		}
	}
}

// story tells what the runs are and how they have ended.
func (r *replaceRound) story() (text string) {
	for _, run := range r.runs {
		text += fmt.Sprintf("%s: process %d, ticket %d, ended %v, status %#x\n",
			run.what, run.pid, run.ticket, run.ended, int(run.end))
	}
	return text
}

// TestTortureOfReplace runs for tortureDuration; if that is given, for so many rounds at least.
func TestTortureOfReplace(t *testing.T) {
	skipInCheck(t)
	needOurs(t)
	end, most := time.Now().Add(tortureDuration(t)), int64(1<<62)
	if os.Getenv("FLOCK_TORTURE") != "" {
		most = replaceRounds
	}
	ways := []string{"", "", "no socket"}
	if needChecks["root"]() && succeeds("unshare", "-n", "true") {
		ways = append(ways, "another network namespace", "no /proc/net")
	} else {
		t.Log("without other network namespaces: that needs root")
	}
	program := withShortGrace(t)
	ground := newTortureGround(t, t.TempDir(), append(os.Environ(), "FLOCK_BACKEND=native"))
	defer ground.reaper.stop()
	isEnough := func() bool {
		return strings.Count(ground.noted(".0.begun"), "\n") > strings.Count(ground.noted(".0.done"), "\n")
	}
	var rounds, runs atomic.Int64
	var group sync.WaitGroup
	for worker := range replaceWorkers {
		dir := fmt.Sprint(worker)
		if err := os.Mkdir(filepath.Join(ground.dir, dir), 0o777); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for !t.Failed() && (rounds.Load() < most && most == replaceRounds || goOn(end, isEnough)) {
				r := &replaceRound{T: t, ground: ground, program: program, dir: dir, judge: ground.guard + "." + dir, ways: ways}
				r.play()
				rounds.Add(1)
				runs.Add(int64(len(r.runs)))
			}
		})
	}
	group.Wait()
	begun, done := 0, 0
	for worker := range replaceWorkers {
		begun += strings.Count(ground.noted(fmt.Sprint(".", worker, ".begun")), "\n")
		done += strings.Count(ground.noted(fmt.Sprint(".", worker, ".done")), "\n")
		if text := ground.noted(fmt.Sprint(".", worker, ".violations")); text != "" {
			t.Errorf("the lock was broken:\n%s", text)
		}
	}
	t.Logf("%d rounds, %d runs; %d commands began, %d completed", rounds.Load(), runs.Load(), begun, done)
	if begun <= done {
		t.Error("no run was ever replaced")
	}
	if text := replaceLines.ReplaceAllString(ground.noted(".stderr"), ""); text != "" {
		t.Errorf("on standard error:\n%s", text)
	}
}

// replaceLines are what may be printed.
var replaceLines = guardLines(`\S+: replaced by a newer run`)
