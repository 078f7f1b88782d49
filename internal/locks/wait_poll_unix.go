//go:build unix && !(linux && (amd64 || arm64))

package locks

import "time"

// acquireUntil asks again at short intervals. Only package alarm can make the system call end in time.
func acquireUntil(call call, fd int, op Op, deadline time.Time) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if err := repeat(call, fd, op, false); err != ErrConflict {
			return err
		}
		if err := Until(deadline).Sleep(pause); err != nil {
			return err
		}
	}
}
