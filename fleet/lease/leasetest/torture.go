//go:build linux

package leasetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The torture: many contend for a few locks in all modes, and with a cooldown, while the program of a backend, guards,
// commands and the server are killed, stopped and continued, and connections are cut. The command asks the kernel
// whether it is alone (package section).
//
// A few faults are left out, because nothing can be promised for them: that a program and its guard are both killed
// while the command has descendants, and that the command alone is killed, whose descendants are then not under the
// lock.

const (
	torturers      = 10 // contenders at a time
	tortureCrowd   = 30 // who come beside them at one instant
	torturePermits = 2
	tortureBound   = 90 * time.Second       // by when all must have ended after the last fault
	torturePace    = 600 * time.Millisecond // at most from one fault to the next
)

// A Backend is what the torture has to know of one.
type Backend struct {
	Name     string        // such as etcd; its program is flock-etcd
	Server   string        // that of its server, as messages have it
	Program  string        // the path of that
	Section  string        // the path of the program of package section
	TTL      time.Duration // how long the server keeps a lock whose holder is silent
	Locks    []string      // names of locks
	Ways     []Environment // that lead to the server, by connections that are disturbed
	Direct   Environment   // leads to the server by connections that are not
	Refusals []string      // texts that are allowed with status 75, beside those of all backends

	// Connections chooses connections of the ways, and says which they are.
	Connections func(random *rand.Rand) (c Connections, which string)
	// DisturbServer does one thing to the server, and undoes it.
	DisturbServer func(x *Torture)
	// Restore undoes all that was done to connections and the server.
	Restore func() error
}

// Connections can be broken and mended.
type Connections interface {
	Cut()       // closes them, and those that come
	BlackHole() // lets nothing pass
	Restore()
}

// A Torture is one that goes on.
type Torture struct {
	*testing.T
	Random *rand.Rand // of the faults, which are in one goroutine

	backend Backend
	program string            // its name
	beside  string            // the path of that of another commit; empty: there is none
	dirs    map[string]string // of each lock
	done    chan struct{}     // closed when no more contenders are to start
	later   sync.WaitGroup    // what a fault does afterwards

	contenders sync.WaitGroup

	mu     sync.Mutex
	live   map[*Child]bool // true: it or its guard was killed
	counts map[string]int
}

// RunTorture tortures a backend for 15 seconds, or as long as FLOCK_TORTURE says. If FLOCK_BESIDE names a folder with
// the programs of another commit, half of the contenders run that of the backend there: both must see each other.
func RunTorture(t *testing.T, b Backend) {
	long := 15 * time.Second
	if s := os.Getenv("FLOCK_TORTURE"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("for %v, with seed %d", long, seed)
	x := &Torture{T: t, Random: rand.New(rand.NewPCG(seed, 0)), backend: b, program: "flock-" + b.Name,
		dirs: map[string]string{}, done: make(chan struct{}), live: map[*Child]bool{}, counts: map[string]int{}}
	for _, name := range b.Locks {
		x.dirs[name] = t.TempDir()
	}
	if folder := os.Getenv("FLOCK_BESIDE"); folder != "" {
		x.beside = filepath.Join(folder, x.program)
		version, err := exec.Command(x.beside, "--version").Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("beside %s, %s", x.beside, version)
	}
	for i := range torturers {
		x.contenders.Go(func() { x.contend(rand.New(rand.NewPCG(seed, uint64(i+1)))) })
	}
	end := time.Now().Add(long)
	goesOn := func() bool { // on a loaded machine until each mode has had its turn
		now := time.Now()
		return now.Before(end) || now.Before(end.Add(tortureBound)) && len(x.missing()) > 0
	}
	for !x.violated() && goesOn() {
		x.SleepUpTo(torturePace)
		x.disturb()
	}
	close(x.done)
	x.later.Wait()
	if err := b.Restore(); err != nil {
		t.Error(err)
	}
	x.awaitEnd()
	x.evaluate()
}

// awaitEnd waits until the last contenders have ended, and fails the test when they are stuck.
func (x *Torture) awaitEnd() {
	ended := make(chan struct{})
	go func() {
		x.contenders.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-time.After(tortureBound):
	}
	x.mu.Lock()
	for p := range x.live {
		x.Errorf("stuck: %q, process %d; stderr: %s", p.Args, p.Process.Pid, &p.Err)
	}
	x.mu.Unlock()
	for name := range x.dirs {
		x.Logf("%s: %s", name, x.backend.Direct.Run(x.T, x.backend.Program, "--holders", name).Out.String())
	}
}

// Count counts what is reported at the end.
func (x *Torture) Count(what string) {
	x.mu.Lock()
	x.counts[what]++
	x.mu.Unlock()
}

// SleepUpTo lets a random time pass.
func (x *Torture) SleepUpTo(limit time.Duration) {
	time.Sleep(time.Duration(x.Random.Int64N(int64(limit))))
}

// contend runs one contender after the other.
func (x *Torture) contend(random *rand.Rand) {
	for {
		select {
		case <-x.done:
			return
		default:
		}
		name := x.backend.Locks[random.IntN(len(x.backend.Locks))]
		x.contendOnce(random, name)
	}
}

// contendOnce runs one contender for a lock.
func (x *Torture) contendOnce(random *rand.Rand, name string) {
	remarks := regexp.MustCompile(fmt.Sprintf(`%s: (requests to %[2]s fail; the wait for .* goes on: .*|`+
		`%[2]s has (not )?renewed the lock .*|%[2]s answers again|(if|see|this lists) .*)\n`, // with a hint
		x.program, x.backend.Server))
	way := x.backend.Ways[random.IntN(len(x.backend.Ways))]
	p := way.Prepare(x.words(name, random)...)
	if err := StartMortal(p.Cmd); err != nil {
		x.Error(err)
		return
	}
	x.mu.Lock()
	x.live[p] = false
	x.mu.Unlock()
	p.Wait()
	x.mu.Lock()
	killed := x.live[p]
	delete(x.live, p)
	x.mu.Unlock()
	// What is said while the server is disturbed is not why a contender ends.
	x.judge(p, name, remarks.ReplaceAllString(p.Err.String(), ""), killed)
}

// crowd has many come for one lock at one instant.
func (x *Torture) crowd() {
	x.Count("fault: a crowd")
	name := x.backend.Locks[x.Random.IntN(len(x.backend.Locks))]
	for range tortureCrowd {
		random := rand.New(rand.NewPCG(x.Random.Uint64(), 0))
		x.contenders.Go(func() { x.contendOnce(random, name) })
	}
}

// words returns the command line of a contender: in any mode, with any limit. The modes are those of package section.
func (x *Torture) words(name string, random *rand.Rand) []string {
	words := []string{x.backend.Program}
	if x.beside != "" && random.IntN(2) == 0 {
		words[0] = x.beside
	}
	mode := "exclusive"
	switch random.IntN(5) {
	case 0:
		mode = "shared"
		words = append(words, "-s")
	case 1:
		mode = "permit"
		words = append(words, "--permits", strconv.Itoa(torturePermits))
	case 2:
		mode = "cooldown"
		from := []string{"start", "end", "success"}
		words = append(words, "--cooldown", "0.5", "--cooldown-from", from[random.IntN(len(from))])
	}
	switch random.IntN(6) {
	case 0:
		words = append(words, "-n")
	case 1:
		words = append(words, "-w", "2.5")
	}
	return append(words, name, x.backend.Section, "torture", x.dirs[name], mode, strconv.Itoa(torturePermits))
}

// judge checks that a contender ended in a way that is allowed. killed: it or its guard was killed.
func (x *Torture) judge(p *Child, name, text string, killed bool) {
	w := p.ProcessState.Sys().(syscall.WaitStatus)
	program := x.program
	if p.Args[0] == x.beside {
		program = x.besides()
	}
	refusal := slices.IndexFunc(x.backend.Refusals, func(says string) bool { return strings.Contains(text, says) })
	switch status := w.ExitStatus(); {
	case w.Signaled() && (w.Signal() == syscall.SIGTERM || w.Signal() == syscall.SIGKILL):
		x.Count(program + " ended by " + w.Signal().String())
	case status == 0 || status == 1 && text == "":
		x.Count(fmt.Sprintf("%s ended with %d", program, status))
	case status == 128+15 || status == 128+9:
		x.Count(fmt.Sprintf("%s ended with %d", program, status))
	case status == 75 && refusal >= 0:
		x.Count(program + " ended with 75: " + x.backend.Refusals[refusal])
	case status == 75 && strings.Contains(text, "lost the lock"):
		_, why, _ := strings.Cut(strings.TrimSpace(text), "lost the lock "+name+": ")
		x.Count(program + " ended with 75: lost the lock: " + why)
	case killed && strings.Contains(text, "guard"):
		x.Count(fmt.Sprintf("%s ended with %d: %s", program, status, strings.TrimSpace(text)))
	default:
		x.Errorf("%q ended with %v: %s%s", p.Args, p.ProcessState, &p.Out, text)
	}
}

// besides is what the program of the other commit is called where is counted what became of it.
func (x *Torture) besides() string { return "the other " + x.program }

// missing names the modes in which nobody has had a lock.
func (x *Torture) missing() (modes []string) {
	events := ""
	for _, dir := range x.dirs {
		events += Read(dir + "/events")
	}
	for _, mode := range []string{"exclusive", "shared", "permit", "cooldown"} {
		if !strings.Contains(events, " enter "+mode) {
			modes = append(modes, mode)
		}
	}
	return modes
}

func (x *Torture) violated() bool {
	for _, dir := range x.dirs {
		if _, err := os.Stat(dir + "/violations"); err == nil {
			return true
		}
	}
	return false
}

// evaluate reads what the critical sections have written, and reports that and what was counted.
func (x *Torture) evaluate() {
	x.mu.Lock()
	defer x.mu.Unlock()
	violations := 0
	var handOver, silence time.Duration
	for name, dir := range x.dirs {
		events := Read(dir + "/events")
		if text := Read(dir + "/violations"); text != "" {
			violations++
			x.Errorf("%s: %s\nlast events:\n%s", name, text, tail(events, 20))
		}
		h, s := x.readEvents(events)
		handOver, silence = max(handOver, h), max(silence, s)
	}
	x.Logf("%d violations; whatever was broken, whoever was next: the longest hand-over %v, "+
		"the longest time without an event of a lock %v",
		violations, handOver.Round(time.Millisecond), silence.Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(x.counts)) {
		x.Logf("%7d %s", x.counts[what], what)
	}
	if modes := x.missing(); len(modes) > 0 {
		x.Errorf("never had a lock: %q", modes)
	}
	if x.beside != "" && (x.counts[x.program+" ended with 0"] == 0 || x.counts[x.besides()+" ended with 0"] == 0) {
		x.Error("only one of the two programs has had a lock")
	}
}

// readEvents counts the entries to a lock, and returns the longest times before one: from a normal end to the next
// entry, and without an event.
func (x *Torture) readEvents(events string) (handOver, silence time.Duration) {
	var last int64
	left := false
	for event := range strings.Lines(events) {
		words := strings.Fields(event) // when, "enter" or "leave", the mode, the process
		at, _ := strconv.ParseInt(words[0], 10, 64)
		if words[1] == "enter" {
			x.counts["entered, "+words[2]]++
			if last != 0 {
				silence = max(silence, time.Duration(at-last))
			}
			if left {
				handOver = max(handOver, time.Duration(at-last))
			}
		}
		last, left = max(last, at), words[1] == "leave"
	}
	return handOver, silence
}

func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
