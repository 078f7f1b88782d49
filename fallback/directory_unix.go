//go:build unix

package fallback

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/events"
	"example.org/flock/internal/sys"
)

// A directory is an open directory. All names are resolved beneath it, so that nobody can put a symbolic link into the
// path between two calls; and its own name was no symbolic link when it was opened.
type directory struct{ fd int }

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openDirectory(path string) (*directory, error) { return openAt(unix.AT_FDCWD, path) }

// open opens a directory in d.
func (d *directory) open(name string) (*directory, error) { return openAt(d.fd, name) }

func openAt(fd int, name string) (*directory, error) {
	opened, err := ignoringEINTR(func() (int, error) { return unix.Openat(fd, name, directoryFlags, 0) })
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

func (d *directory) close() { unix.Close(d.fd) }

func (s *stateDir) handle() events.Directory {
	return events.Directory{FD: s.dir.fd, Name: s.path}
}

func (d *directory) names() ([]string, error) {
	// Opened anew each time: that is when an NFS client asks the server whether the directory has changed.
	fd, err := unix.Openat(d.fd, ".", directoryFlags, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if fd = d.fd; err == unix.EMFILE {
		_, err = unix.Seek(fd, 0, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	return sys.Names(fd)
}

// create makes an empty file. That it is there already is no error: the name is ours alone, and this is the second answer
// of an NFS server that made it the first time.
func (d *directory) create(name string) error {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o666)
	})
	if err == unix.EEXIST {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// mkdir makes a directory with the permissions that the umask leaves, and all of those of its owner: with a umask like 0177
// nobody could use it, nor remove what is in it.
func (d *directory) mkdir(name string) error {
	if err := unix.Mkdirat(d.fd, name, 0o777); err != nil {
		return err
	}
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && stat.Mode&0o700 != 0o700 {
		err = unix.Fchmodat(d.fd, name, uint32(stat.Mode)&0o777|0o700, 0)
	}
	return err
}

// touch sets the modification time to now, by the clock of the server.
func (d *directory) touch(name string) error {
	return unix.UtimesNanoAt(d.fd, name, nil, unix.AT_SYMLINK_NOFOLLOW)
}

func (d *directory) modTime(name string) (time.Time, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return time.Unix(stat.Mtim.Unix()), err
}

func (d *directory) rename(old string, to *directory, name string) error {
	return unix.Renameat(d.fd, old, to.fd, name)
}

// remove removes a file or an empty directory.
func (d *directory) remove(name string) error {
	err := unix.Unlinkat(d.fd, name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // POSIX says EPERM for a directory, Linux EISDIR
		if e := unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR); e != unix.ENOTDIR {
			err = e
		}
	}
	return err
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
