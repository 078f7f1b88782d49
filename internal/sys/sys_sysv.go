//go:build aix || illumos || linux || solaris

package sys

import "golang.org/x/sys/unix"

const getTermios = unix.TCGETS
