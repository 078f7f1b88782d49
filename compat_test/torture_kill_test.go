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

// A strike is what happens to a flock under torture.
type strike int

const (
	spare strike = iota
	stopFlock
	stopCommand
	stopBoth
	killFlock
	killCommand
	killBoth
	killCommandFirst // both, flock when its command is dead
	strikes
)

func (s strike) String() string {
	return []string{"spared", "flock stopped", "command stopped", "both stopped", "flock killed", "command killed",
		"both killed", "both killed, command first"}[s]
}

// A family starts processes and buries them, and their orphans: an init that does not would fill the process table.
type family struct {
	dir  string
	env  []string
	err  *os.File // standard error
	mu   sync.Mutex
	live map[int]chan syscall.WaitStatus // whom wait waits for
	over bool
	done chan bool
}

// adopt makes this process the one that orphans go to. Until disband, nobody else can wait for a child.
func adopt(t *testing.T, dir string, env []string, stderr *os.File) *family {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	f := &family{dir: dir, env: env, err: stderr, live: map[int]chan syscall.WaitStatus{}, done: make(chan bool)}
	go f.bury()
	return f
}

func (f *family) bury() {
	defer close(f.done)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		f.mu.Lock()
		if err == nil {
			if mourner := f.live[pid]; mourner != nil {
				mourner <- status
				delete(f.live, pid)
			}
		}
		over := f.over
		f.mu.Unlock()
		if err == syscall.ECHILD {
			if over {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// disband ends the family: all of it must have ended or be killed now.
func (f *family) disband() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	for {
		for _, pid := range children(os.Getpid()) {
			kill(pid, os.Getpid(), unix.SIGKILL)
		}
		select {
		case <-f.done:
			unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A process is a child, whose id cannot have been given to another.
type process struct {
	pid, fd int
	status  chan syscall.WaitStatus
}

func (f *family) start(words []string) (*process, error) {
	p := &process{fd: -1, status: make(chan syscall.WaitStatus, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{
		Dir: f.dir, Env: f.env, Files: []uintptr{0, 1, f.err.Fd()}, Sys: &syscall.SysProcAttr{PidFD: &p.fd}})
	if err != nil {
		return nil, err
	}
	if p.fd < 0 {
		return nil, fmt.Errorf("no pidfd for %q", words)
	}
	p.pid = pid
	f.live[pid] = p.status
	return p, nil
}

// wait waits for the end of p, and no longer than limit. Then p is killed.
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

func (p *process) signal(s unix.Signal) { unix.PidfdSendSignal(p.fd, s, nil, 0) }

// suffer does s to p, or to its children, who are the commands.
func (p *process) suffer(s strike) {
	switch s {
	case stopFlock, stopCommand, stopBoth:
		// now and then for longer than contenders believe in a move that goes on
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
			defer open(pid, p.pid).kill()
		}
		p.signal(unix.SIGKILL)
	case killCommandFirst:
		p.signal(unix.SIGSTOP)
		p.stopped()
		p.killChildren()
		p.signal(unix.SIGKILL)
	}
}

// killChildren kills the children of p and waits until each is dead.
func (p *process) killChildren() {
	for _, pid := range children(p.pid) {
		c := open(pid, p.pid)
		c.signal(unix.SIGKILL)
		c.dead()
		unix.Close(c.fd)
	}
}

// stopped waits until p is stopped, so that it starts no more children, or dead.
func (p *process) stopped() {
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
		_, state, _ := strings.Cut(string(text), "\nState:\t")
		if err != nil || strings.ContainsAny(state[:min(1, len(state))], "TZX") && p.threadsStopped() {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func (p *process) threadsStopped() bool {
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

// inside waits until p, or a child of p, runs the critical section, or for a second.
func (p *process) inside() {
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

// open takes hold of a child of parent. The descriptor is -1 if it is not there any more.
func open(pid, parent int) *process {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return &process{pid: pid, fd: -1}
	}
	for _, child := range children(parent) {
		if child == pid { // and so it was when it was opened: dead children keep their id until they are waited for
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

// dead waits until all threads of p have ended, waited for or not.
func (p *process) dead() {
	if p.fd >= 0 {
		unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(tortureBound/time.Millisecond))
	}
}

// kill sends a signal to a child of parent.
func kill(pid, parent int, s unix.Signal) {
	if p := open(pid, parent); p.fd >= 0 {
		p.signal(s)
		unix.Close(p.fd)
	}
}

// children lists the children of a process, whichever of its threads has started them.
func children(pid int) (pids []int) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(text)) {
			var child int
			fmt.Sscan(word, &child)
			pids = append(pids, child)
		}
	}
	return pids
}
