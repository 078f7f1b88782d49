//go:build unix && !linux

package main

import "time"

// attemptWithin asks again at short intervals. Only on Linux can a timer's
// signal be sent to the one thread that waits in the system call.
func attemptWithin(call lockCall, f *lockFile, o *options) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := attemptOnce(call, f, o, errTimeout)
		if err != errTimeout {
			return err
		}
		left := time.Until(o.deadline)
		if left <= 0 {
			return errTimeout
		}
		time.Sleep(min(pause, left))
	}
}
