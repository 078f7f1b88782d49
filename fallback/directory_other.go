//go:build unix && !linux

package fallback

import (
	"golang.org/x/sys/unix"
)

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more. On these systems
// poll(2) does not wake a writer that asks for no event. FreeBSD, which answers who asks after the last reader has gone,
// wakes nobody before about 2021. So who releases the lock rings the first waiter, and for the sake of those that were
// killed, waiters look.
var tellsEnd = false

func askServer(int) {}

func (*directory) refresh() {}

// mkfifo goes by the path: not all systems have mkfifoat(2).
func mkfifo(_ *directory, path, name string) error { return unix.Mkfifo(path+"/"+name, 0o666) }

// modeFIFO is the mode of FIFOs. Some of these systems let only root set the sticky bit of a file.
const modeFIFO = 0o666

// inherit lets the processes that this one starts have the lifeline.
func (l lifeline) inherit(fd int) (moved lifeline, file int, err error) {
	_, err = unix.FcntlInt(uintptr(l), unix.F_SETFD, 0)
	return l, fd, err
}

func isMountPoint(string) bool { return false }
