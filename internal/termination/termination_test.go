//go:build unix

package termination

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

func init() {
	runtime.LockOSThread() // the first thread, which gets the signals of the process: see TestMain
}

// raise sends this process a signal, which the first thread has handled when it returns, but package signal has not
// delivered.
var raise = func(sig syscall.Signal) { syscall.Kill(os.Getpid(), sig) }

// TestMain tests Arrived in the first thread, as flock uses it.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "finish" {
		Defer()
		raise(syscall.SIGINT)
		Finish()
		os.Exit(3)
	}
	if len(os.Args) == 2 && os.Args[1] == "finish after Catch" {
		Catch()
		raise(syscall.SIGWINCH)
		raise(syscall.SIGINT)
		Finish()
		os.Exit(3)
	}
	if len(os.Args) == 2 && os.Args[1] == "finish late" {
		pending = func() uint32 { // another thread handles it when this one has asked
			raise(syscall.SIGINT)
			return 1 << (syscall.SIGINT - 1)
		}
		Finish()
		os.Exit(3)
	}
	signals := Notify()
	for range 1000 {
		raise(syscall.SIGUSR1)
		if list := Arrived(signals); !slices.Contains(list, os.Signal(syscall.SIGUSR1)) {
			fmt.Printf("Arrived: %v\n", list)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestPending waits for signals as long as they are pending, but not for ever, nor for others.
func TestPending(t *testing.T) {
	defer func(before func() uint32) { pending = before }(pending)
	for _, c := range []struct {
		sig       syscall.Signal
		left, ask int
	}{{syscall.SIGTERM, 0, 1}, {syscall.SIGTERM, 3, 4}, {syscall.SIGCHLD, 3, 1}, {syscall.SIGTERM, 1000, 100}} {
		asked := 0
		pending = func() (set uint32) {
			if asked++; asked <= c.left {
				set = 1 << (c.sig - 1)
			}
			return set
		}
		if awaitPending(); asked != c.ask {
			t.Errorf("%+v: asked %d times", c, asked)
		}
	}
}

// TestFinish has a process get a signal that it defers, or has caught, or does not catch, just before it finishes: it
// dies by it.
func TestFinish(t *testing.T) {
	if signal.Ignored(syscall.SIGINT) { // by who has started the test, as in the background of a script
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGINT)
		defer signal.Stop(caught)
	}
	for i := range 150 {
		child := exec.Command(os.Args[0], []string{"finish", "finish after Catch", "finish late"}[i%3])
		child.Run()
		if end := child.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGINT {
			t.Fatal(child.Args[1], child.ProcessState)
		}
	}
}
