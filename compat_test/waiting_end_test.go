//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHolderEndsAtEverySystemCall stops a waiter after its first, second, ... system call, lets the holder go
// meanwhile, and asserts that the waiter then gets the lock at once: no event is lost, whenever it comes. It takes
// about one call in fifteen, at random; with FLOCK_TORTURE set, all. After some 200 calls a waiter behind an open file
// only repeats its looks.
func TestHolderEndsAtEverySystemCall(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	const calls = 300
	step := 30
	if inTorture() {
		step = 1
	}
	for name, holder := range map[string][]string{
		"killed": {oursPath, "-F", "f", "cat"},
		"closes": {"sh", "-c", "exec 9>f; flock 9; read line; exec 9>&-; while [ -e held ]; do sleep .1; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var worst time.Duration
			stops := 0
			for n := 1; n < calls; n += 1 + rand.N(step) {
				stopped := false
				took := atOnce(t, fmt.Sprintf("the waiter, stopped after %d calls, got the lock", n),
					func() (took time.Duration) {
						took, stopped = endHolderAt(t, n, name == "killed", holder)
						return took
					})
				if !stopped {
					break
				}
				stops++
				worst = max(worst, took)
			}
			if stops < 5 {
				t.Errorf("only %d stops", stops)
			}
			t.Logf("%d stops, and the waiter in at most %v later", stops, worst)
		})
	}
}

// endHolderAt lets the holder go while a waiter is stopped after n system calls. It returns how long it then took until
// the waiter had had the lock, and whether the waiter was stopped before it slept.
func endHolderAt(t *testing.T, n int, kill bool, holder []string) (took time.Duration, stopped bool) {
	q := newWaitQueue(t, t.TempDir(), holder...)
	held := filepath.Join(q.dir, "held")
	os.WriteFile(held, nil, 0o666)
	w := q.command(oursPath, "f", "true")
	runtime.LockOSThread()
	w.SysProcAttr.Ptrace = true
	q.start(w)
	stopped, err := stopAfter(w.Process.Pid, n)
	runtime.UnlockOSThread()
	if err != nil {
		t.Skip("needs the permission to trace: ", err)
	}
	q.await("a waiter that is stopped or waits", func() bool {
		return isInState(w.Process.Pid, "T") || !stopped && len(q.names("wait,")) > 0
	})
	if kill {
		q.holder.Process.Kill()
		q.holder.Wait()
	}
	q.in.Close()
	if !kill {
		q.awaitClosed()
	}
	unix.Kill(w.Process.Pid, unix.SIGCONT)
	took = q.finish(w)
	os.Remove(held)
	if !kill {
		q.finish(q.holder)
	}
	return took, stopped
}

// TestCloseBesideForks lets a holder close its file while processes are made faster than one can look into each. Then
// somebody who waits and somebody who does not find that nobody has the file open.
func TestCloseBesideForks(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	const holder = "exec 9>f; flock 9; read line; exec 9>&-; while [ -e held ]; do sleep .1; done"
	for _, waits := range []bool{true, false} {
		q := newWaitQueue(t, t.TempDir(), "sh", "-c", holder)
		held := filepath.Join(q.dir, "held")
		os.WriteFile(held, nil, 0o666)
		all := []*exec.Cmd{q.holder}
		for range 8 * runtime.NumCPU() {
			c := q.command("sh", "-c", "while [ -e held ]; do /bin/true; done")
			q.start(c)
			all = append(all, c)
		}
		next := q.command(oursPath, "-n", "f", "true")
		if waits {
			next = q.addWaiters(1, oursPath, "f", "true")[0]
		}
		q.in.Close()
		q.awaitClosed()
		if !waits {
			q.start(next)
		}
		q.finish(next)
		os.Remove(held)
		q.finish(all...)
	}
}

// awaitClosed waits until the holder has closed descriptor 9.
func (q *waitQueue) awaitClosed() {
	q.t.Helper()
	q.await("a closed descriptor", func() bool {
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/9", q.holder.Process.Pid))
		return err != nil
	})
}

// stopAfter lets a traced process that has just been started make n system calls, and then stops it and no longer
// traces it. It returns false if the process has gone to sleep before.
func stopAfter(pid, n int) (stopped bool, err error) {
	var status syscall.WaitStatus
	if _, err = syscall.Wait4(pid, &status, 0, nil); err != nil {
		return false, err
	}
	if err = syscall.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return false, err
	}
	const isCall = 0x80
	for stops := 0; stops < 2*n; { // one before each call and one after it
		signal := 0
		if s := status.StopSignal(); s != unix.SIGTRAP && s != unix.SIGTRAP|isCall {
			signal = int(s)
		}
		if err = syscall.PtraceSyscall(pid, signal); err != nil {
			return false, err
		}
		for asleep := 0; ; {
			got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
			if err != nil {
				return false, err
			}
			if got == pid {
				break
			}
			if asleep++; !isInState(pid, "S") {
				asleep = 0
			}
			if asleep > 200 { // for a tenth of a second and more: longer than it pauses
				unix.Kill(pid, unix.SIGCONT) // a process that does not stop cannot be detached from
				if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
					return false, err
				}
				return false, detach(pid, 0)
			}
			time.Sleep(500 * time.Microsecond)
		}
		if status.StopSignal() == unix.SIGTRAP|isCall {
			stops++
		}
	}
	return true, detach(pid, unix.SIGSTOP)
}

func detach(pid int, signal unix.Signal) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
