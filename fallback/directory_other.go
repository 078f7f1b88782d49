//go:build unix && !linux

package fallback

import (
	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more. On these systems
// poll(2) does not wake a writer that asks for no event. FreeBSD, which answers who asks after the last reader has gone,
// wakes nobody before about 2021. So who releases the lock rings the first waiter, and for the sake of those that were
// killed, waiters ask.
var tellsEnd = false

func askServer(int) {}

func (*directory) refresh() {}

// mkfifo goes by the path: not all systems have mkfifoat(2).
func mkfifo(_ *directory, path, name string) error { return unix.Mkfifo(path+"/"+name, 0o666) }

// modeFIFO is the mode of FIFOs. Some of these systems let only root set the sticky bit of a file.
const modeFIFO = 0o666

// fchmodat is a variable for imitations of other systems.
var fchmodat = unix.Fchmodat

// chmodFIFO sets the mode of a FIFO. Where somebody has put a link instead, it sets that of the link. illumos cannot do
// that, and refuses it for every file.
func (d *directory) chmodFIFO(name string) error {
	err := fchmodat(d.dirfd, name, modeFIFO, unix.AT_SYMLINK_NOFOLLOW)
	if sys.Is(err, unix.EOPNOTSUPP, unix.ENOTSUP) { // on macOS and OpenBSD they are different errors
		return d.chmodLifeline(name)
	}
	return err
}

// inherit lets the processes that this one starts have the lifeline.
func (l lifeline) inherit(fd int) (moved lifeline, file int, err error) {
	_, err = unix.FcntlInt(uintptr(l), unix.F_SETFD, 0)
	return l, fd, err
}

func isMountPoint(string) bool { return false }
