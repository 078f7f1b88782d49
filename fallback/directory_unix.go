//go:build unix

package fallback

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// A directory is an open directory. All names are resolved in it, so that nobody can put a symbolic link into its path
// between two calls; and its own name was no symbolic link when it was opened.
type directory struct{ dirfd int }

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

// openDirectory opens a directory under a high number: the low ones are for the lifeline and the command.
func openDirectory(path string) (*directory, error) {
	d, err := openAt(unix.AT_FDCWD, path)
	if err != nil {
		return nil, err
	}
	if high, err := unix.FcntlInt(uintptr(d.dirfd), unix.F_DUPFD_CLOEXEC, 64); err == nil {
		d.close()
		d.dirfd = high
	}
	return d, nil
}

// open opens a directory in d.
func (d *directory) open(name string) (*directory, error) { return openAt(d.dirfd, name) }

func openAt(fd int, name string) (*directory, error) {
	opened, err := openat(fd, name, directoryFlags)
	if err == nil {
		return &directory{opened}, nil
	}
	var stat unix.Stat_t
	if err != unix.ENOENT && unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			err = errIsLink
		case unix.S_IFDIR:
		default:
			err = errNoDirectory
		}
	}
	return nil, err
}

func (d *directory) close() { unix.Close(d.dirfd) }

// absolute returns a path as an absolute one. It keeps each "..", which after a symbolic link is the directory around
// what that leads to.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	working, err := os.Getwd()
	return working + "/" + path, err
}

func (d *directory) names() ([]string, error) {
	// Opened anew each time: that is when most NFS clients ask the server whether the directory has changed.
	fd, err := openat(d.dirfd, ".", directoryFlags)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	askServer(fd)
	return sys.NamesAtOnce(fd)
}

func (d *directory) mkdir(name string) error { return unix.Mkdirat(d.dirfd, name, 0o777) }

func (d *directory) rename(old string, to *directory, name string) error {
	return unix.Renameat(d.dirfd, old, to.dirfd, name)
}

func (d *directory) Remove(name string) error { return unix.Unlinkat(d.dirfd, name, 0) }
func (d *directory) rmdir(name string) error  { return unix.Unlinkat(d.dirfd, name, unix.AT_REMOVEDIR) }

// device returns the device number of the filesystem.
func (d *directory) device() (string, error) {
	stat, err := sys.Retry(func() (stat unix.Stat_t, err error) {
		err = unix.Fstat(d.dirfd, &stat)
		return stat, err
	})
	return strconv.FormatUint(uint64(stat.Dev), 16), err
}

func openat(dir int, name string, flags int) (fd int, err error) {
	return sys.Retry(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0) })
}

// A lifeline is a FIFO that a process has open for reading and writing: it has a reader as long as somebody has
// inherited that.
type lifeline int

// makeFIFO makes a FIFO that everybody who may search the directory can open, whatever the umask is: a contender whose
// question is refused would wait for ever. It does not set the mode by the name, where somebody may have put a link to
// another file.
func (d *directory) makeFIFO(path, name string) error {
	err := mkfifo(d, path, name)
	switch {
	case err == unix.EEXIST: // the second answer of an NFS server that made it the first time
	case sys.Is(err, unix.EPERM, unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP, unix.ENOTSUP):
		return errNoFIFO // on macOS and OpenBSD, the last two are different errors
	case err != nil:
		return err
	}
	l, err := d.OpenLifeline(name)
	if err == nil {
		err = unix.Fchmod(int(l), modeFIFO)
		d.CloseLifeline(l)
	}
	return err
}

func (d *directory) OpenLifeline(name string) (lifeline, error) { return d.openFIFO(name, unix.O_RDWR) }

// openFIFO opens a FIFO without O_NOFOLLOW, with which NFS 4 answers ELOOP. The error is unix.EINVAL if it is something
// else, before it is opened or, if somebody has put that there meanwhile, after it: nothing is written into a stranger's
// file.
func (d *directory) openFIFO(name string, access int) (lifeline, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(d.dirfd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, err
	}
	if !isFIFO(&stat) {
		return 0, unix.EINVAL
	}
	fd, err := openat(d.dirfd, name, access|unix.O_NONBLOCK)
	if err != nil {
		return 0, err
	}
	if err := unix.Fstat(fd, &stat); err != nil || !isFIFO(&stat) {
		unix.Close(fd)
		return 0, unix.EINVAL
	}
	return lifeline(fd), nil
}

func isFIFO(stat *unix.Stat_t) bool { return stat.Mode&unix.S_IFMT == unix.S_IFIFO }

func (d *directory) CloseLifeline(l lifeline) { unix.Close(int(l)) }

// Ask asks the kernel: a FIFO without a reader cannot be opened for writing only.
func (d *directory) Ask(name string) answer {
	fd, err := d.openFIFO(name, unix.O_WRONLY)
	switch {
	case err == nil:
		unix.Close(int(fd))
		return hasReader
	case err == unix.ENXIO:
		return noReader
	case err == unix.ENOENT:
		return noName
	case err == unix.EINVAL:
		return noLifeline
	}
	return unknown
}

// Ring writes to a lifeline, which is open for reading, too: otherwise a SIGPIPE would come if nobody has it any more.
func (d *directory) Ring(name string) {
	if fd, err := d.openFIFO(name, unix.O_RDWR); err == nil {
		fd.ring()
		unix.Close(int(fd))
	}
}

// poll is a variable for imitations of other systems.
var poll = unix.Poll

// wait polls: on Linux, a FIFO that is open for writing reports an error at the moment when its last reader is gone. If
// there is no descriptor left for one of the others, it waits with those before that: the end of the rest is found by
// the next look.
func (d *directory) wait(own lifeline, others []string, limit time.Duration) (timedOut bool, err error) {
	fds := []unix.PollFd{{Fd: int32(own), Events: unix.POLLIN}}
	defer func() {
		for _, other := range fds[1:] {
			unix.Close(int(other.Fd))
		}
	}()
	for _, name := range others {
		fd, err := d.openFIFO(name, unix.O_WRONLY)
		if err == unix.EMFILE || err == unix.ENFILE {
			break
		}
		switch {
		case err == nil:
			fds = append(fds, unix.PollFd{Fd: int32(fd)})
		case err == unix.ENXIO, isAbsent(err):
			return false, nil
		}
	}
	n, err := poll(fds, int((limit+time.Millisecond-1)/time.Millisecond))
	if err == unix.EINTR {
		return false, nil
	}
	if fds[0].Revents&unix.POLLIN != 0 {
		unix.Read(int(own), make([]byte, 4096))
	}
	if n == 0 {
		d.refresh() // a waiter changes nothing himself, and nobody else may be left who does
	}
	return n == 0, err
}

func (l lifeline) ring() { unix.Write(int(l), []byte{'\n'}) }
