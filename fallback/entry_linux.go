package fallback

import "golang.org/x/sys/unix"

// makeFIFO is replaced by a test.
var makeFIFO = unix.Mkfifoat

// makeEntry makes the name of a waiter, as a FIFO where the filesystem allows: its bell. A process that releases the lock
// writes to it. Unlike inotify, FIFOs have no limit in the system, and closing them takes no time.
func (s *stateDir) makeEntry(name string) (bell int, err error) {
	if makeFIFO(s.dir.fd, name, 0o666) != nil {
		return 0, s.Create(name)
	}
	fd, err := unix.Openat(s.dir.fd, name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil
	}
	s.letRing(fd)
	return fd, nil
}

// letRing allows everybody who may write in the directory, and so lock and release, to write to the FIFO of a waiter,
// whatever the waiter's umask is. If that fails, the waiter notices the release later.
func (s *stateDir) letRing(fifo int) {
	var in, is unix.Stat_t
	if unix.Fstat(s.dir.fd, &in) != nil || unix.Fstat(fifo, &is) != nil {
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

// ring wakes another waiter. It reports whether that one has read all earlier calls, which a stopped one does not.
func (s *stateDir) ring(name string) (awake bool) {
	if !s.listens(name) {
		return false
	}
	// Also for reading: otherwise a SIGPIPE comes if that one has left meanwhile.
	fd, err := unix.Openat(s.dir.fd, name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	unread, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	unix.Write(fd, []byte{'\n'})
	return err == nil && unread == 0
}

// listens reports whether a process of this kernel, in whatever pid namespace, has the FIFO of a waiter open.
func (s *stateDir) listens(name string) bool {
	fd, err := unix.Openat(s.dir.fd, name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
}

func closeEntry(bell int) {
	if bell != 0 {
		unix.Close(bell)
	}
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

// isLocal reports whether the directory is surely on this machine.
func (d *directory) isLocal() bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(d.fd, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}
