package fallback

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// makeFIFO is replaced by a test.
var makeFIFO = unix.Mkfifoat

// createEntry makes the name of a waiter, as a FIFO where the filesystem allows. A process that releases the lock writes to
// it. A waiter that comes later opens it for writing: when we, its only reader, close it or are killed, poll(2) tells that
// waiter. Unlike inotify, FIFOs have no limit in the system, and closing them takes no time.
func (p *place) createEntry(name string) (fd int, err error) {
	if dir, err := p.file(); err == nil && makeFIFO(int(dir.Fd()), name, 0o666) == nil {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, nil
		}
		letWake(int(dir.Fd()), fd)
		return fd, nil
	}
	return 0, p.Create(name)
}

// letWake allows everybody who may write in the directory, and so lock and release, to write to the FIFO of a waiter,
// whatever the waiter's umask is. If that fails, the waiter notices the release later.
func letWake(dir, fifo int) {
	var in, is unix.Stat_t
	if unix.Fstat(dir, &in) != nil || unix.Fstat(fifo, &is) != nil {
		return
	}
	writers := in.Mode & 0o022
	mode := is.Mode&0o777 | writers | writers<<1
	if in.Mode&0o020 != 0 && is.Gid != in.Gid {
		unix.Fchown(fifo, -1, int(in.Gid))
	}
	if mode != is.Mode&0o777 {
		unix.Fchmod(fifo, mode)
	}
}

// wakeEntry wakes another waiter. It reports whether that one has read all earlier calls, which a stopped one does not.
func wakeEntry(dir *os.File, name string) (awake bool) {
	is, _ := openEntry(dir, name)
	if is == 0 {
		return false
	}
	defer unix.Close(is)
	// Also for reading: otherwise a SIGPIPE comes if that one has left meanwhile.
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	unread, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	unix.Write(fd, []byte{'\n'})
	return err == nil && unread == 0
}

// openEntry opens the entry of another waiter for writing, which is possible while that one has it open. The descriptor is 0
// if the entry is no FIFO or must not be opened by this user.
func openEntry(dir *os.File, name string) (fd int, err error) {
	fd, err = unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch err {
	case unix.ENOENT, unix.ENXIO:
		return 0, errLeft
	case nil:
	default:
		return 0, err
	}
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		unix.Close(fd)
		return 0, nil
	}
	return fd, nil
}

// canOpen reports whether there are as many free descriptors as the other system calls need.
func canOpen() bool {
	var fds []int
	for range 4 {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return len(fds) == 4
}

func closeEntry(fd int) {
	if fd != 0 {
		unix.Close(fd)
	}
}

// Wake wakes the two eldest waiters for each mode that are not stopped. With anew it reads the queue once more: a process that
// is not in it yet looks after we have released.
func (p *place) Wake(anew bool) {
	if anew {
		if _, err := p.list(); err != nil {
			return
		}
	}
	if len(p.waiters) == 0 {
		return
	}
	dir, err := p.file()
	if err != nil {
		return
	}
	for _, mode := range []Mode{Exclusive, Shared, Permit} {
		_, names := p.arrivals("", mode.String(), 4*eldest, false)
		awake := 0
		for _, name := range names {
			if name != p.waiting && wakeEntry(dir, name) {
				if awake++; awake == 2 {
					break
				}
			}
		}
	}
}

// names lists the directory as os.File.Readdirnames does, with fewer system calls.
func (p *place) names() (names []string, err error) {
	dir, err := p.file()
	if err != nil {
		return nil, err
	}
	// Opened anew each time: that is when an NFS client asks the server whether the directory has changed.
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if fd = int(dir.Fd()); err == unix.EMFILE {
		_, err = unix.Seek(fd, 0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(fd, b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
}
