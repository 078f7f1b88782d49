//go:build unix && !linux

package kernlock

import "time"

// acquireUntil asks again at short intervals. Only on Linux can a timer's signal be sent to the one thread that waits in
// the system call.
func acquireUntil(call Call, fd int, op Op, limit Limit) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if err := try(call, fd, op); err != ErrConflict {
			return err
		}
		if err := limit.Wait(pause); err != nil {
			return err
		}
	}
}
