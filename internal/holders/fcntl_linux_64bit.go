//go:build linux && !386 && !arm && !mips && !mipsle

package holders

import "golang.org/x/sys/unix"

// sysFcntl is the number of the call that takes the struct flock of package unix.
const sysFcntl = unix.SYS_FCNTL
