//go:build unix

package termination

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

func init() {
	runtime.LockOSThread() // the first thread, which gets the signals of the process: see TestMain
}

// TestMain tests Arrived in the first thread, as flock uses it: a signal that the process sends to itself has been handled
// there when kill(2) returns, but not delivered.
func TestMain(m *testing.M) {
	signals := Forward()
	for range 1000 {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		if list := Arrived(signals); !slices.Contains(list, os.Signal(syscall.SIGUSR1)) {
			fmt.Printf("Arrived: %v\n", list)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
