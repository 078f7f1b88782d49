//go:build unix && !linux

package main

import (
	"syscall"
	"time"
)

// attemptWithin asks again at short intervals. Only on Linux can a timer's
// signal be sent to the one thread that waits in the system call.
func attemptWithin(call lockCall, f *lockFile, o *options) error {
	deadline := time.Now().Add(o.timeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := call(f, o, false)
		if err != syscall.EAGAIN && err != syscall.EACCES && err != syscall.EINTR {
			return err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return errTimeout
		}
		time.Sleep(min(pause, left))
	}
}
