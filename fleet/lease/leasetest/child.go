//go:build linux

package leasetest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Allowance is for two cores that all tests share. It is added to bounds that are about answers, not about the time
// that a server keeps a lock.
const Allowance = 20 * time.Second

// An Environment is the variables of what a test starts: those that lead to the server, and what is different.
type Environment []string

// NewEnvironment returns one that has nothing of the user who runs the tests. A test may append to it more than once.
func NewEnvironment(variables ...string) Environment {
	e := append(Environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C"}, variables...)
	return slices.Clip(e) // so that each append makes a copy
}

// A Child is a process that a test has started: the program of a backend, or what runs one.
type Child struct {
	*exec.Cmd
	Out, Err Buffer        // what it has written to its standard output and standard error
	Ended    chan struct{} // closed at its end. Those below are known then.
	Status   int           // 128 plus the number of the signal that it died by
	Signal   syscall.Signal
	EndedAt  time.Time
}

// A Buffer takes what a process writes, and can be read meanwhile.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the buffer.
func (b *Buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(text)
}

// String returns what was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Prepare returns a child that is not started yet, so that the test can change its Cmd. Words are a program and its
// arguments.
func (e Environment) Prepare(words ...string) *Child {
	c := &Child{Cmd: exec.Command(words[0], words[1:]...), Ended: make(chan struct{})}
	c.Env, c.Stdout, c.Stderr = e, &c.Out, &c.Err
	// Background children of the command may keep the pipe of the output open.
	c.WaitDelay = time.Second
	return c
}

// Start starts a program, until the end of the test at the most.
func (e Environment) Start(t *testing.T, words ...string) *Child {
	t.Helper()
	c := e.Prepare(words...)
	c.Launch(t)
	return c
}

// Run starts a program and waits for its end.
func (e Environment) Run(t *testing.T, words ...string) *Child {
	t.Helper()
	return e.Start(t, words...).AwaitEnd(t)
}

// Launch starts what Prepare has returned.
func (c *Child) Launch(t *testing.T) {
	t.Helper()
	if err := StartMortal(c.Cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.Wait()
		w := c.ProcessState.Sys().(syscall.WaitStatus)
		c.Status, c.EndedAt = w.ExitStatus(), time.Now()
		if w.Signaled() {
			c.Signal = w.Signal()
			c.Status = 128 + int(c.Signal)
		}
		close(c.Ended)
	}()
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGCONT)
		c.Process.Kill()
		<-c.Ended
	})
}

// AwaitEnd waits for the end, and fails the test when there is none.
func (c *Child) AwaitEnd(t *testing.T) *Child {
	t.Helper()
	for range (40*time.Second + Allowance) / pause {
		select {
		case <-c.Ended:
			return c
		case <-time.After(pause):
		}
	}
	var commands []int // of the guards
	for _, guard := range Children(c.Process.Pid) {
		commands = append(commands, Children(guard)...)
	}
	t.Fatalf("%v does not end; commands: %v; stdout: %s; stderr: %s", c.Args, commands, &c.Out, &c.Err)
	return nil
}

// AwaitOutput waits until the child has written something: then the command of a contender runs. It fails the test when
// the child has ended.
func (c *Child) AwaitOutput(t *testing.T) {
	t.Helper()
	Await(t, "the output of the command", func() bool {
		if c.HasEnded() {
			t.Fatalf("%q ended with %d: %s%s", c.Args, c.Status, &c.Out, &c.Err)
		}
		return c.Out.String() != ""
	})
}

// HasEnded reports whether the child has ended.
func (c *Child) HasEnded() bool {
	select {
	case <-c.Ended:
		return true
	default:
		return false
	}
}

// Check fails the test unless the end was as expected.
func (c *Child) Check(t *testing.T, status int, out, err string) {
	t.Helper()
	if c.Status != status || c.Out.String() != out || c.Err.String() != err {
		t.Errorf("%q\nstatus %d, expected %d\nstdout %q, expected %q\nstderr %q, expected %q",
			c.Args, c.Status, status, c.Out.String(), out, c.Err.String(), err)
	}
}

// CheckContract checks the program of a backend against what flock(1) says about those.
func (e Environment) CheckContract(t *testing.T, program string) {
	t.Helper()
	c := e.Start(t, "sh", "../../../compat_test/backend.sh", program)
	select {
	case <-c.Ended:
	case <-time.After(4 * time.Minute): // it waits for leases to end, and for cooldowns
		t.Fatalf("no end: %s%s", &c.Out, &c.Err)
	}
	c.Check(t, 0, filepath.Base(program)+": ok\n", c.Err.String())
}
