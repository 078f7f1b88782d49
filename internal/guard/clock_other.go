//go:build unix && !netbsd && (!linux || guard_portable)

package guard

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC
