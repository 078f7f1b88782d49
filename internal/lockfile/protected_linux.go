package lockfile

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openProtected opens, for reading, a file that open(2) has refused with EACCES only because of O_CREAT. With
// fs.protected_regular, Linux does so for an existing file of another owner in a sticky directory, even for root.
//
// The file is looked at first, by a descriptor that neither opens it nor follows a symbolic link, and then opened through
// that descriptor: the owner of the name cannot put a fifo in between, whose opening would wait, or a link to elsewhere.
func openProtected(name string) (fd int, err error) {
	path, err := open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	var stat unix.Stat_t
	if err = unix.Fstat(path, &stat); err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = syscall.EACCES
	}
	if err == nil {
		if fd, err = open("/proc/self/fd/"+strconv.Itoa(path), syscall.O_RDONLY); err == nil {
			defer syscall.Close(fd)
			err = unix.Dup3(fd, path, 0) // the lock file has the lowest free number
		}
	}
	if err != nil {
		syscall.Close(path)
		return -1, err
	}
	return path, nil
}
