//go:build unix && !linux

package fallback

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func askServer(int) {}

func (*directory) refresh() {}

// tellsEnd reports whether poll(2) tells a writer that the last reader of a FIFO is gone. On macOS it does not,
// whatever events it is asked for (in the source, fifo_close wakes no knote); and a byte that is in the FIFO for its
// owner would end a wait for POLLIN at once, again and again.
const tellsEnd = runtime.GOOS != "darwin"

// mkfifo goes by the path: not all systems have mkfifoat(2).
func mkfifo(_ *directory, path, name string) error { return unix.Mkfifo(path+"/"+name, 0o666) }

// modeFIFO is the mode of FIFOs. Some of these systems let only root set the sticky bit of a file.
const modeFIFO = 0o666

// inherit lets the processes that this one starts have the lifeline.
func (l lifeline) inherit(fd int) (moved lifeline, file int, err error) {
	_, err = unix.FcntlInt(uintptr(l), unix.F_SETFD, 0)
	return l, fd, err
}

func watchCloses(int, string) int { return notWatching }
func closeWatch(int)              {}
