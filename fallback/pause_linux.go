package fallback

import (
	"time"

	"golang.org/x/sys/unix"
)

func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&t, nil)
}
