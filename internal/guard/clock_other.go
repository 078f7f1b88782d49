//go:build unix && !linux && !netbsd

package guard

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC
