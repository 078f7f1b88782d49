package termination

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// For this thread alone: a thread that has just been made could take a signal of the process, and be slow to handle it.
func init() {
	raise = func(sig syscall.Signal) { unix.Tgkill(os.Getpid(), unix.Gettid(), sig) }
}
