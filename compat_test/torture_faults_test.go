//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A fault is what the torture test does to a flock.
type fault int

const (
	noFault fault = iota
	stopFlock
	stopCommand
	stopBoth
	killFlock
	killCommand
	killBoth
	killCommandFirst // both, flock after its command is dead
	faults
)

func (s fault) String() string {
	return []string{"left alone", "flock stopped", "command stopped", "both stopped", "flock killed", "command killed",
		"both killed", "both killed, command first"}[s]
}

// A reaper starts processes and waits for them and for their orphans. Not every init process waits for orphans, and
// those that nobody waits for would fill the process table.
type reaper struct {
	dir  string
	env  []string
	err  *os.File // standard error
	mu   sync.Mutex
	live map[int]chan syscall.WaitStatus // by process id: where the status goes
	over bool                            // stop was called
	done chan bool
}

// startReaper makes this process the parent of orphans (PR_SET_CHILD_SUBREAPER). Until stop, nothing else in this
// process may wait for a child.
func startReaper(t *testing.T, dir string, env []string, stderr *os.File) *reaper {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	r := &reaper{dir: dir, env: env, err: stderr, live: map[int]chan syscall.WaitStatus{}, done: make(chan bool)}
	go r.reap()
	return r
}

func (r *reaper) reap() {
	defer close(r.done)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		r.mu.Lock()
		if err == nil {
			if waiter := r.live[pid]; waiter != nil {
				waiter <- status
				delete(r.live, pid)
			}
		}
		over := r.over
		r.mu.Unlock()
		if err == syscall.ECHILD {
			if over {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// stop kills what still runs and returns when every child has been waited for.
func (r *reaper) stop() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	for {
		for _, pid := range children(os.Getpid()) {
			kill(pid, os.Getpid(), unix.SIGKILL)
		}
		select {
		case <-r.done:
			unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A process is a child. The pidfd stays with it, while the id could go to another process.
type process struct {
	pid, fd int
	status  chan syscall.WaitStatus
}

func (r *reaper) start(words []string) (*process, error) {
	p := &process{fd: -1, status: make(chan syscall.WaitStatus, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{
		Dir: r.dir, Env: r.env, Files: []uintptr{0, 1, r.err.Fd()}, Sys: &syscall.SysProcAttr{PidFD: &p.fd}})
	if err != nil {
		return nil, err
	}
	if p.fd < 0 {
		return nil, fmt.Errorf("no pidfd for %q", words)
	}
	p.pid = pid
	r.live[pid] = p.status
	return p, nil
}

// wait waits until p ends. After limit it kills p.
func (p *process) wait(limit time.Duration) (syscall.WaitStatus, bool) {
	defer unix.Close(p.fd)
	select {
	case status := <-p.status:
		return status, true
	case <-time.After(limit):
		p.signal(unix.SIGKILL)
		return 0, false
	}
}

// mustEnd reports an error if p does not end some time after the end of the torture, or fails although it must succeed.
func (p *process) mustEnd(t *testing.T, end time.Time, succeed bool, what string) {
	limit := max(time.Until(end), 0) + tortureBound
	status, ok := p.wait(limit)
	switch {
	case !ok:
		t.Errorf("%s: still there %v later", what, limit)
	case succeed && status != 0:
		t.Errorf("%s: status %#x", what, int(status))
	}
}

func (p *process) signal(s unix.Signal) { unix.PidfdSendSignal(p.fd, s, nil, 0) }

// inject applies a fault to p, or to its children, which are the commands.
func (p *process) inject(s fault) {
	switch s {
	case stopFlock, stopCommand, stopBoth:
		// sometimes longer than the time after which contenders check an unfinished move
		pause := time.Duration(rand.N(20)) * time.Millisecond
		if rand.N(30) == 0 {
			pause = 1200 * time.Millisecond
		}
		commands := children(p.pid)
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
			if s != stopCommand {
				p.signal(sig)
			}
			if s != stopFlock {
				for _, pid := range commands {
					kill(pid, p.pid, sig)
				}
			}
			if sig == unix.SIGSTOP {
				time.Sleep(pause)
			}
		}
	case killFlock:
		p.signal(unix.SIGKILL)
	case killCommand:
		p.killChildren()
	case killBoth:
		for _, pid := range children(p.pid) {
			defer openChild(pid, p.pid).kill()
		}
		p.signal(unix.SIGKILL)
	case killCommandFirst:
		p.signal(unix.SIGSTOP)
		p.waitStopped()
		p.killChildren()
		p.signal(unix.SIGKILL)
	}
}

// killChildren kills the children of p and waits until each is dead.
func (p *process) killChildren() {
	for _, pid := range children(p.pid) {
		c := openChild(pid, p.pid)
		c.signal(unix.SIGKILL)
		c.waitDead()
		unix.Close(c.fd)
	}
}

// waitStopped waits until p is stopped, and can start no more children, or is dead.
func (p *process) waitStopped() {
	for !p.isStopped() {
		time.Sleep(100 * time.Microsecond)
	}
}

func (p *process) isStopped() bool {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		_, state, ok := strings.Cut(string(text), "\nState:\t")
		if ok && !strings.ContainsAny(state[:1], "TZX") {
			return false
		}
	}
	return true
}

// waitInside waits until p, or a child of p, runs the critical section, but no longer than a second.
func (p *process) waitInside() {
	for range 500 {
		for _, pid := range append(children(p.pid), p.pid) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if words := strings.Split(string(text), "\x00"); len(words) > 1 && words[1] == "critical-section" {
				return
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// openChild opens a pidfd of a child of parent. The descriptor is -1 if the child does not exist any more.
func openChild(pid, parent int) *process {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return &process{pid: pid, fd: -1}
	}
	for _, child := range children(parent) {
		if child == pid { // the pidfd is of this child: a dead child keeps its id until it is waited for
			return &process{pid: pid, fd: fd}
		}
	}
	unix.Close(fd)
	return &process{pid: pid, fd: -1}
}

func (p *process) kill() {
	p.signal(unix.SIGKILL)
	unix.Close(p.fd)
}

// waitDead waits until all threads of p have ended.
func (p *process) waitDead() {
	if p.fd >= 0 {
		unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(tortureBound/time.Millisecond))
	}
}

// kill sends a signal to a child of parent.
func kill(pid, parent int, s unix.Signal) {
	if p := openChild(pid, parent); p.fd >= 0 {
		p.signal(s)
		unix.Close(p.fd)
	}
}
