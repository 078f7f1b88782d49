package cstart

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// IsSetUserID reports whether this process has more rights than its caller, as a set-user-id or set-group-id program or
// one with capabilities. It must not trust what the caller passes on; glibc protects C programs in this way
// (csu/check_fds.c, sysdeps/generic/unsecvars.h). The kernel says so in the auxiliary vector, getauxval(3).
func IsSetUserID() bool {
	const atSecure = 23 // AT_SECURE
	vector, err := unix.Auxv()
	secure := err != nil
	for _, entry := range vector {
		secure = secure || entry[0] == atSecure && entry[1] != 0
	}
	return secure
}

// OpenStandardFiles opens those of the descriptors 0, 1 and 2 that are closed. Otherwise the lock file could become one
// of them, and the command would write to it. To use these descriptors fails: 0 is open for writing, the others for
// reading.
func OpenStandardFiles() error {
	if !IsSetUserID() {
		return nil
	}
	for fd, name := range []string{"/dev/full", "/dev/null", "/dev/null"} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			continue
		}
		mode := unix.O_RDONLY
		if fd == 0 {
			mode = unix.O_WRONLY
		}
		if _, err := unix.Open(name, mode|unix.O_NOFOLLOW, 0); err != nil {
			return errors.New("cannot open " + name + " in the place of the closed descriptor " + strconv.Itoa(fd) +
				": " + sys.Text(err))
		}
	}
	return nil
}

// trusted returns the part of an environment that such a program may pass on: without the variables by which the
// dynamic linker and the C library of the command load or write files.
func trusted(environment []string) []string {
	if !IsSetUserID() {
		return environment
	}
	return slices.DeleteFunc(environment, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "LD_") || slices.Contains(untrusted, name)
	})
}

var untrusted = []string{"GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
	"MALLOC_CHECK_", "MALLOC_TRACE", "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TMPDIR", "TZDIR"}
