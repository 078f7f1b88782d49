//go:build unix

package fallback

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// kernelLock locks an open file, or fails at once.
func kernelLock(f *os.File, exclusively bool) error {
	how := unix.LOCK_SH
	if exclusively {
		how = unix.LOCK_EX
	}
	return unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
}

// stopped stops a process for a while.
func stopped(p *os.Process, d time.Duration) {
	p.Signal(unix.SIGSTOP)
	time.Sleep(d)
	p.Signal(unix.SIGCONT)
}

func tempDir(t *testing.T) string { return t.TempDir() }
