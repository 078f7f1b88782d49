//go:build linux

package test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/flock/postgres/test/server"
)

// The torture: many contend for a few locks in all modes, while flock-postgres, guards, commands and the server are
// killed, stopped and continued, and connections are cut. The command asks the kernel whether it is alone (package
// section).
//
// A few faults are left out, because nothing can be promised for them: that flock-postgres and its guard are both
// killed while the command has descendants, and that the command alone is killed, whose descendants are then not under
// the lock.

const (
	torturers      = 10 // contenders at a time
	tortureTTL     = 3 * time.Second
	torturePermits = 2
	tortureBound   = 90 * time.Second       // by when all must have ended after the last fault
	torturePace    = 600 * time.Millisecond // at most from one fault to the next
)

type torture struct {
	*testing.T
	server *server.Server
	ways   []*server.Proxy
	dirs   map[string]string // of each lock
	random *rand.Rand        // of the faults

	mu     sync.Mutex
	live   map[*process]bool // true: it or its guard was killed
	counts map[string]int
	done   chan struct{} // closed when no more contenders are to start

	later sync.WaitGroup // what a fault does afterwards
}

func TestTorture(t *testing.T) {
	long := 15 * time.Second
	if s := os.Getenv("FLOCK_TORTURE"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("for %v, with seed %d", long, seed)
	s := ownServer(t, int(tortureTTL.Seconds()))
	x := &torture{T: t, server: s, dirs: map[string]string{}, live: map[*process]bool{}, counts: map[string]int{},
		done: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 0))}
	for range 3 {
		x.ways = append(x.ways, proxyTo(t, s))
	}
	for _, name := range []string{"red", "it's", "/var/lock/blue"} {
		x.dirs[name] = t.TempDir()
	}
	var contenders sync.WaitGroup
	for i := range torturers {
		contenders.Go(func() { x.contend(rand.New(rand.NewPCG(seed, uint64(i+1)))) })
	}
	end := time.Now().Add(long)
	goesOn := func() bool { // on a loaded machine until each mode has had its turn
		now := time.Now()
		return now.Before(end) || now.Before(end.Add(tortureBound)) && len(x.missing()) > 0
	}
	for !x.violated() && goesOn() {
		time.Sleep(time.Duration(x.random.Int64N(int64(torturePace))))
		x.disturb()
	}
	close(x.done)
	x.later.Wait()
	for _, way := range x.ways {
		way.Restore()
	}
	ended := make(chan struct{})
	go func() {
		contenders.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(tortureBound):
		x.mu.Lock()
		for p := range x.live {
			t.Errorf("stuck: %q, process %d; stderr: %s", p.Args, p.Process.Pid, &p.err)
		}
		x.mu.Unlock()
		for name := range x.dirs {
			t.Logf("%s: %s", name, to(s).run(t, flockPostgres, "--holders", name).out.String())
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.evaluate()
	for _, what := range slices.Sorted(maps.Keys(x.counts)) {
		t.Logf("%7d %s", x.counts[what], what)
	}
	if modes := x.missing(); len(modes) > 0 {
		t.Errorf("never had a lock: %q", modes)
	}
}

// silence is what is said while the server is disturbed.
var silence = regexp.MustCompile(`flock-postgres: postgres ` +
	`(does not answer: .*; the wait for .* goes on|has not answered for .*|answers again)\n`)

// missing names the modes in which nobody has had a lock.
func (x *torture) missing() (modes []string) {
	events := ""
	for _, dir := range x.dirs {
		events += read(dir + "/events")
	}
	for _, mode := range []string{"exclusive", "shared", "permit"} {
		if !strings.Contains(events, " enter "+mode) {
			modes = append(modes, mode)
		}
	}
	return modes
}

func (x *torture) violated() bool {
	for _, dir := range x.dirs {
		if _, err := os.Stat(dir + "/violations"); err == nil {
			return true
		}
	}
	return false
}

func (x *torture) count(what string) {
	x.mu.Lock()
	x.counts[what]++
	x.mu.Unlock()
}

// contend runs one flock-postgres after the other.
func (x *torture) contend(random *rand.Rand) {
	names := slices.Sorted(maps.Keys(x.dirs))
	for {
		select {
		case <-x.done:
			return
		default:
		}
		name := names[random.IntN(len(names))]
		words := []string{flockPostgres}
		mode := "exclusive"
		switch random.IntN(4) {
		case 0:
			mode = "shared"
			words = append(words, "-s")
		case 1:
			mode = "permit"
			words = append(words, "--permits", strconv.Itoa(torturePermits))
		}
		switch random.IntN(6) {
		case 0:
			words = append(words, "-n")
		case 1:
			words = append(words, "-w", "2.5")
		}
		words = append(words, name, section, "torture", x.dirs[name], mode, strconv.Itoa(torturePermits))
		p := by(x.ways[random.IntN(len(x.ways))]).prepare(words...)
		if err := server.StartMortal(p.Cmd); err != nil {
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
		w := p.ProcessState.Sys().(syscall.WaitStatus)
		text := silence.ReplaceAllString(p.err.String(), "")
		switch status := w.ExitStatus(); {
		case w.Signaled() && (w.Signal() == syscall.SIGTERM || w.Signal() == syscall.SIGKILL):
			x.count("flock-postgres ended by " + w.Signal().String())
		case status == 0 || status == 1 && text == "":
			x.count(fmt.Sprintf("flock-postgres ended with %d", status))
		case status == 128+15 || status == 128+9:
			x.count(fmt.Sprintf("flock-postgres ended with %d", status))
		case status == 75 && strings.Contains(text, "cannot reach PostgreSQL"):
			x.count("flock-postgres ended with 75: cannot reach PostgreSQL")
		case status == 75 && strings.Contains(text, "by the server of before is unknown"):
			x.count("flock-postgres ended with 75: the server of before")
		case status == 75 && strings.Contains(text, "lost the lock"):
			_, why, _ := strings.Cut(strings.TrimSpace(text), "lost the lock "+name+": ")
			x.count("flock-postgres ended with 75: lost the lock: " + why)
		case killed && strings.Contains(text, "guard"):
			x.count(fmt.Sprintf("flock-postgres ended with %d: %s", status, strings.TrimSpace(text)))
		default:
			x.Errorf("%q ended with %v: %s%s", p.Args, p.ProcessState, &p.out, text)
		}
	}
}

// after does something up to a time later.
func (x *torture) after(limit time.Duration, f func()) {
	d := time.Duration(x.random.Int64N(int64(limit)))
	x.later.Go(func() {
		time.Sleep(d)
		f()
	})
}

// disturb does one thing of those that happen.
func (x *torture) disturb() {
	const long = 2 * tortureTTL
	switch n := x.random.IntN(20); {
	case n < 11:
		x.disturbProcess()
	case n < 14:
		way := x.ways[x.random.IntN(len(x.ways))]
		if x.random.IntN(2) == 0 {
			x.count("fault: cut the connections of a third of all")
			way.Cut()
		} else {
			x.count("fault: a black hole for the connections of a third of all")
			way.BlackHole()
		}
		x.after(long, way.Restore)
	case n == 14:
		x.disturbServer()
	}
}

// disturbServer is in the goroutine of the faults, to which the server belongs.
func (x *torture) disturbServer() {
	switch x.random.IntN(4) {
	case 0:
		x.count("fault: freeze the server")
		x.server.Freeze()
		time.Sleep(time.Duration(x.random.Int64N(int64(2 * tortureTTL))))
		x.server.Thaw()
	case 1:
		x.count("fault: crash the server")
		x.server.Crash()
		time.Sleep(time.Duration(x.random.Int64N(int64(tortureTTL))))
		if err := x.server.Run(); err != nil {
			x.Error(err)
		}
	default:
		x.count("fault: terminate all connections")
		terminate(x.T, x.server, time.Millisecond)
	}
}

// disturbProcess chooses a flock-postgres, and kills or stops it, its guard, or its command.
func (x *torture) disturbProcess() {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list, holders []*process
	for p, killed := range x.live {
		if killed {
			continue
		}
		list = append(list, p)
		if guards := children(p.Process.Pid); len(guards) == 1 && len(children(guards[0])) > 0 {
			holders = append(holders, p)
		}
	}
	if len(holders) > 0 && x.random.IntN(3) > 0 {
		list = holders // most of the others just wait
	}
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, func(a, b *process) int { return a.Process.Pid - b.Process.Pid })
	p := list[x.random.IntN(len(list))]
	pid := p.Process.Pid
	guards := children(pid)
	stop := func(what string, pids ...int) {
		x.counts["fault: stop "+what]++
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
		x.after(2*tortureTTL, func() {
			for _, pid := range pids {
				syscall.Kill(pid, syscall.SIGCONT)
			}
		})
	}
	n := x.random.IntN(9)
	if len(guards) != 1 && n > 2 {
		return
	}
	switch n {
	case 0:
		x.live[p] = true
		x.counts["fault: kill flock-postgres"]++
		syscall.Kill(pid, syscall.SIGKILL)
	case 1:
		stop("flock-postgres", pid)
	case 2:
		x.counts["fault: terminate flock-postgres"]++
		syscall.Kill(pid, syscall.SIGTERM)
	case 3:
		x.live[p] = true
		x.counts["fault: kill guard"]++
		syscall.Kill(guards[0], syscall.SIGKILL)
	case 4:
		stop("guard", guards...)
	case 5:
		stop("flock-postgres and guard", pid, guards[0])
	case 6:
		x.live[p] = true
		x.counts["fault: stop guard, kill flock-postgres"]++
		stop("guard", guards...)
		syscall.Kill(pid, syscall.SIGKILL)
	case 7:
		x.live[p] = true
		x.counts["fault: stop flock-postgres, kill guard"]++
		stop("flock-postgres", pid)
		syscall.Kill(guards[0], syscall.SIGKILL)
	case 8:
		x.killCommand(guards[0])
	}
}

// killCommand kills a command with its descendants, which after its end would not be under the lock any more.
func (x *torture) killCommand(guard int) {
	for _, command := range children(guard) {
		words := strings.Split(read(fmt.Sprintf("/proc/%d/cmdline", command)), "\x00")
		if len(words) < 4 || words[1] != "torture" {
			continue
		}
		syscall.Kill(command, syscall.SIGSTOP)
		if !slices.Contains(strings.Fields(read(words[2]+"/running")), strconv.Itoa(command)) {
			syscall.Kill(command, syscall.SIGCONT) // it may be about to have children
			return
		}
		for _, pid := range append(children(guard), children(command)...) {
			if pid != command {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		x.counts["fault: kill command"]++
		syscall.Kill(command, syscall.SIGKILL)
	}
}

// evaluate reads what the critical sections have written.
func (x *torture) evaluate() {
	entered := map[string]int{}
	violations := 0
	var longest, handOver time.Duration // without an event; and from a normal end to the next one
	for name, dir := range x.dirs {
		if text := read(dir + "/violations"); text != "" {
			violations++
			x.Errorf("%s: %s\nlast events:\n%s", name, text, tail(read(dir+"/events"), 20))
		}
		var last int64
		left := false
		for event := range strings.Lines(read(dir + "/events")) {
			words := strings.Fields(event)
			at, _ := strconv.ParseInt(words[0], 10, 64)
			if words[1] == "enter" {
				entered[words[2]]++
				if last != 0 {
					longest = max(longest, time.Duration(at-last))
				}
				if left {
					handOver = max(handOver, time.Duration(at-last))
				}
			}
			last, left = max(last, at), words[1] == "leave"
		}
	}
	for mode, n := range entered {
		x.counts["entered, "+mode] = n
	}
	x.Logf("%d violations; whatever was broken, whoever was next: the longest hand-over %v, "+
		"the longest time without an event of a lock %v",
		violations, handOver.Round(time.Millisecond), longest.Round(time.Millisecond))
}

func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
