package fallback

import (
	"os"

	"golang.org/x/sys/unix"
)

// createEntry makes the name of a waiter. Where the filesystem allows it is a FIFO, which others open for reading: when
// we close it, or are killed, poll(2) tells them. No limit of the system is in the way of that. Others get no more from
// it: nobody writes.
func (p *place) createEntry(name string) (fd int, err error) {
	if dir := p.file(); dir != nil && unix.Mkfifoat(int(dir.Fd()), name, 0o666) == nil {
		// For reading, too: else there would have to be a reader first.
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			fd = 0
		}
		return fd, nil
	}
	return 0, p.Create(name)
}

// openEntry opens the entry of another waiter. The descriptor is 0 if it is no FIFO or not for us to read.
func openEntry(dir *os.File, name string) (fd int, err error) {
	fd, err = unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		unix.Close(fd)
		return 0, nil
	}
	return fd, nil
}

func closeEntry(fd int) {
	if fd != 0 {
		unix.Close(fd)
	}
}
