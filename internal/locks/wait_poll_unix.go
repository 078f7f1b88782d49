//go:build unix && !(linux && (amd64 || arm64))

package locks

import "time"

// answerUntil is answerWithin for a wait that ends. It makes the call again at short intervals: only package alarm can
// make the system call end in time.
func answerUntil(deadline time.Time, call call, fd int, op Op) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		answer := answerWithin(Try, call, fd, op)
		if !isConflict(answer) || Until(deadline).Sleep(pause) != nil {
			return answer
		}
	}
}
