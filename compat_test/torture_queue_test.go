//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The torture test of --queue N: round after round, many contenders come while the lock is held, and some of them are
// killed. When each waits, was refused or was killed, no more than N are left, and if fewer are left, exactly so many
// more may wait. Then the holder ends or is killed while more come. For each that was refused, a section must begin
// after its request, unless a waiter was killed meanwhile.

const refusedStatus = 99 // of -E

// queueForms are ways to wait with --queue and to run a section.
var queueForms = []form{
	{name: "command", words: aroundCommand()},
	{name: "no-fork", words: aroundCommand("-F")},
	{name: "limited", words: aroundCommand("-w", "100")},
	{name: "reporting", words: aroundCommand("--report", "100")},
	{name: "cooldown", words: aroundCommand("--cooldown", ".003")},
	{name: "number", words: byOpenNumber("9>>f")},
	{name: "number-for-reading", words: byOpenNumber("9<f")},
	{name: "descriptor", words: func(options, section []string) []string {
		return slices.Concat([]string{"/bin/sh", "-c", `exec 9<f; exec flock --fd 9 "$@"`, "sh"}, options, section)
	}},
}

func byOpenNumber(redirection string) func(options, section []string) []string {
	return func(options, section []string) []string {
		script := "exec " + redirection + "; flock " + strings.Join(options, " ") + ` 9 || exit; "$@"`
		return slices.Concat([]string{"/bin/sh", "-c", script, "sh"}, section)
	}
}

// A queueRound has the contenders for one lock.
type queueRound struct {
	*testing.T
	reaper     *reaper
	dir        string
	length     int           // of the queue
	pace       time.Duration // how long sections last
	mu         sync.Mutex
	requests   int
	contenders []*contender
}

// A contender is a process that asks for the lock with --queue.
type contender struct {
	*process
	name    string
	request int // the number of its request
	began   time.Time
	killed  time.Time     // when it was dead; zero: it was not killed
	ended   chan struct{} // closed when refused and end are set
	refused bool
	end     time.Time
}

func (c *contender) isThere() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// come starts a contender. Its request is counted before.
func (r *queueRound) come() *contender {
	way := queueForms[rand.N(len(queueForms))]
	options := []string{"--queue", fmt.Sprint(r.length), "-E", fmt.Sprint(refusedStatus)}
	if way.name != "cooldown" {
		options = append(options, [][]string{{"-x"}, {"-x"}, {"-s"}, {"--permits", "2"}}[rand.N(4)]...)
	}
	if way.name == "number-for-reading" || way.name == "descriptor" {
		options = options[:4] // a permit needs a descriptor for writing
	}
	section := []string{"/bin/sh", "-c",
		fmt.Sprintf("wc -c <requests >>begun; sleep %f", (r.pace/2 + rand.N(r.pace)).Seconds())}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(r.dir, "requests"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write([]byte{'.'})
		f.Close()
	}
	r.requests++
	c := &contender{name: way.name, request: r.requests, began: time.Now(), ended: make(chan struct{})}
	if err == nil {
		c.process, err = r.reaper.start(way.words(options, section))
	}
	if err != nil {
		r.Error(err)
		c.process = &process{fd: -1}
		close(c.ended)
		return c
	}
	go func() {
		status := <-c.status
		c.end = time.Now()
		c.refused = status.ExitStatus() == refusedStatus
		if status != 0 && !c.refused && c.killed.IsZero() {
			r.Errorf("%s: status %#x", c.name, int(status))
		}
		close(c.ended)
	}()
	r.contenders = append(r.contenders, c)
	return c
}

// killWaiting kills a contender, unless it has ended.
func (c *contender) killWaiting() {
	if !c.isThere() {
		return
	}
	c.killed = time.Now().Add(time.Hour)
	c.signal(unix.SIGSTOP) // a script starts nothing more
	c.waitStopped()
	c.killChildren()
	c.signal(unix.SIGKILL)
	<-c.ended
	c.killed = time.Now()
}

func (r *queueRound) waiting() (cs []*contender) {
	for _, c := range r.contenders {
		if c.isThere() {
			cs = append(cs, c)
		}
	}
	return cs
}

// isAsleep reports whether a flock of the contender waits for the lock.
func (c *contender) isAsleep() bool {
	for _, pid := range append(children(c.pid), c.pid) {
		if statusLine(pid, "Name") == "flock" && isInState(pid, "S") {
			return true
		}
	}
	return false
}

// settle waits until no more contenders are there than may wait.
func (r *queueRound) settle(when string) {
	for end := time.Now().Add(tortureBound); len(r.waiting()) > r.length; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			for _, c := range r.waiting() {
				r.Logf("%s, request %d, asleep: %v", c.name, c.request, c.isAsleep())
			}
			r.Fatalf("%s: %d wait with --queue %d", when, len(r.waiting()), r.length)
		}
	}
}

// TestTortureQueue runs for some seconds each way, and as long as FLOCK_TORTURE says.
func TestTortureQueue(t *testing.T) {
	skipInCheck(t)
	long := tortureDuration(t)
	runEachBackend(t, func(t *testing.T, dir string, env []string) {
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		reaper := startReaper(t, dir, env, stderr)
		defer reaper.stop()
		var rounds, refused, killed, exempt int
		for end := time.Now().Add(long); time.Now().Before(end) && !t.Failed(); rounds++ {
			r := &queueRound{T: t, reaper: reaper, dir: dir, length: 1 + rand.N(2)*rand.N(3),
				pace: 8 * time.Millisecond << (2 * rand.N(2))}
			r.run()
			for _, c := range r.contenders {
				if c.refused {
					refused++
				}
				if !c.killed.IsZero() {
					killed++
				}
			}
			exempt += r.check()
		}
		t.Logf("%d rounds, %d refused, %d of them while a waiter was killed, %d killed",
			rounds, refused, exempt, killed)
		text, _ := os.ReadFile(stderr.Name())
		expected := regexp.MustCompile(
			`(?m)^flock: ((f|descriptor 9) is held by .*; its queue is full\n|` + busyLine + ")")
		if unexpected := expected.ReplaceAll(text, nil); len(unexpected) > 0 {
			t.Errorf("on standard error:\n%s", unexpected)
		}
	})
}

func (r *queueRound) run() {
	for _, name := range []string{"f", "requests", "begun"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o666); err != nil {
			r.Fatal(err)
		}
	}
	os.Remove(filepath.Join(r.dir, "has"))
	holder, err := r.reaper.start([]string{oursPath, "f", "sh", "-c", ": >has; exec sleep 1000"})
	if err != nil {
		r.Fatal(err)
	}
	for end := time.Now().Add(tortureBound); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, "has")); err == nil {
			break
		} else if time.Now().After(end) {
			r.Fatal("the holder does not get the lock")
		}
	}
	var killings sync.WaitGroup
	for range r.length + 1 + rand.N(4) {
		c := r.come()
		if rand.N(3) == 0 {
			killings.Go(func() {
				time.Sleep(rand.N(20 * time.Millisecond))
				c.killWaiting()
			})
		}
	}
	killings.Wait()
	r.settle("at first")
	for range 2 {
		for len(r.waiting()) < r.length { // there is room
			before := len(r.waiting())
			c := r.come()
			for end := time.Now().Add(tortureBound); c.isThere() && !c.isAsleep() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if !c.isThere() {
				r.Fatalf("%s is refused where %d wait with --queue %d", c.name, before, r.length)
			}
		}
		r.come()
		r.settle("one more")
		if n := len(r.waiting()); n != r.length {
			r.Fatalf("after one more came, %d wait with --queue %d", n, r.length)
		}
		if rand.N(2) == 0 {
			break
		}
		r.waiting()[rand.N(r.length)].killWaiting()
	}
	// The holder ends while more come, and in some rounds a waiter is killed.
	var group sync.WaitGroup
	if waiting := r.waiting(); len(waiting) > 0 && rand.N(4) == 0 {
		group.Go(func() {
			time.Sleep(rand.N(2 * r.pace))
			waiting[rand.N(len(waiting))].killWaiting()
		})
	}
	for range 2 {
		group.Go(func() {
			for range 4 {
				time.Sleep(rand.N(r.pace))
				r.come()
			}
		})
	}
	time.Sleep(rand.N(10 * time.Millisecond))
	holder.inject([]fault{killCommand, killBoth, killCommandFirst}[rand.N(3)])
	group.Wait()
	for _, c := range r.contenders {
		select {
		case <-c.ended:
		case <-time.After(tortureBound):
			r.Fatalf("%s, request %d, does not end", c.name, c.request)
		}
	}
	for _, c := range append(r.contenders, &contender{process: holder}) {
		unix.Close(c.fd)
	}
}

// check returns how many were refused while a waiter was killed, for whom no section need have begun.
func (r *queueRound) check() (exempt int) {
	text, err := os.ReadFile(filepath.Join(r.dir, "begun"))
	if err != nil {
		r.Fatal(err)
	}
	last := 0
	for _, word := range strings.Fields(string(text)) {
		n := 0
		fmt.Sscan(word, &n)
		last = max(last, n)
	}
	for _, c := range r.contenders {
		if !c.refused || c.request <= last {
			continue
		}
		isExempt := slices.ContainsFunc(r.contenders, func(k *contender) bool {
			return !k.killed.IsZero() && k.began.Before(c.end) && k.killed.After(c.began)
		})
		if isExempt {
			exempt++
		} else {
			r.Errorf("request %d of %d was refused (%s), and the last section began after %d",
				c.request, r.requests, c.name, last)
		}
	}
	return exempt
}
