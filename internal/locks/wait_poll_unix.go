//go:build unix && !(linux && (amd64 || arm64))

package locks

import "time"

// callUntil is callWithin for a wait that ends. It makes the call again at short intervals: only package alarm can make
// the system call end in time.
func callUntil(deadline time.Time, call call, fd int, op Op) (answer, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		answer, err := callWithin(Try, call, fd, op)
		if err != ErrConflict {
			return answer, err
		}
		if err := Until(deadline).Sleep(pause); err != nil {
			return answer, err
		}
	}
}
