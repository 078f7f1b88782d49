//go:build ignore

package locks

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This is what flock(2) of the BSDs, macOS and illumos has in common: a call that does not wait, and is refused, keeps
// the shared lock of the open file. Where the call waits for an exclusive lock the BSDs and macOS give up the shared
// one.

// imitateFlock makes one call of flock(2). keepsOut reports whether something else than a lock of flock(2) excludes a
// lock of this kind.
func imitateFlock(fd, how int, keepsOut func(kind int) bool) error {
	kind := how &^ unix.LOCK_NB
	for {
		err := imitateAtomically(func() error {
			if kind != unix.LOCK_UN && keepsOut(kind) {
				return syscall.EAGAIN
			}
			wasShared := imitateIsShared(fd)
			err := unix.Flock(fd, kind|unix.LOCK_NB)
			if err == syscall.EAGAIN && wasShared {
				unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) // Linux has lost it
			}
			return err
		})
		if err != syscall.EAGAIN || how&unix.LOCK_NB != 0 {
			return err
		}
		if kind == unix.LOCK_EX && system != "illumos" {
			unix.Flock(fd, unix.LOCK_UN)
		}
		time.Sleep(time.Millisecond)
	}
}

// imitateAtomically makes one call at a time in all processes that execute this program: its own file is the mutex.
func imitateAtomically(call func() error) error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	for {
		switch err := unix.Flock(int(program.Fd()), unix.LOCK_EX); err {
		case nil:
			return call()
		case syscall.EINTR:
		default:
			return err
		}
	}
}

var imitateSharedLine = regexp.MustCompile(`(?m)^lock:.*\sFLOCK +ADVISORY +READ `)

// imitateIsShared reports whether the open file has a shared lock of flock(2).
func imitateIsShared(fd int) bool {
	shown, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	return err == nil && imitateSharedLine.Match(shown)
}

// imitateOpenAgain returns another open file of the same file. A FIFO or a device, which may not be opened so, has no
// byte locks.
func imitateOpenAgain(fd int) (*os.File, error) {
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, syscall.ENXIO
	}
	return os.Open(path)
}
