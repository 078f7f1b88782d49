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
	signals := Forward()
	for range 1000 {
		raise(syscall.SIGUSR1)
		if list := Arrived(signals); !slices.Contains(list, os.Signal(syscall.SIGUSR1)) {
			fmt.Printf("Arrived: %v\n", list)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestFinish has a process get a signal that it defers, or has caught, just before it finishes: it dies by it.
func TestFinish(t *testing.T) {
	if signal.Ignored(syscall.SIGINT) { // by who has started the test, as in the background of a script
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGINT)
		defer signal.Stop(caught)
	}
	for i := range 100 {
		child := exec.Command(os.Args[0], []string{"finish", "finish after Catch"}[i%2])
		child.Run()
		if end := child.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGINT {
			t.Fatal(child.Args[1], child.ProcessState)
		}
	}
}
