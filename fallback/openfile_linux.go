package fallback

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// OpenFile returns the lock on the open file that is our descriptor fd. It lasts until the last descriptor of that open file
// is closed, in whatever process; whoever has the open file converts and unlocks it. dir and path are as for OpenIn. Only Linux
// has this lock.
func OpenFile(dir, path string, fd int) (*Lock, error) {
	return &Lock{dir: dir, path: path, fd: fd}, nil
}

func (m mark) flag() int {
	if m == noAtime {
		return unix.O_NOATIME
	}
	return unix.O_NONBLOCK
}

// A fileID is what stat(2) says of a file.
type fileID struct{ device, inode uint64 }

// statID returns the identity of the file at a path. It does not ask the server of a network filesystem, which may be gone.
func statID(path string) (id fileID, mode uint16, err error) {
	var s unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_TYPE, &s)
	return fileID{unix.Mkdev(s.Dev_major, s.Dev_minor), s.Ino}, s.Mode, err
}

func descriptorPath(p place) string {
	return "/proc/" + strconv.Itoa(p.pid) + "/fd/" + strconv.Itoa(p.number)
}

// identity returns the identity of our open file or, without one, that of the file at the path.
func (s thisSystem) identity() fileID {
	path := s.file
	if s.fd >= 0 {
		path = "/proc/self/fd/" + strconv.Itoa(s.fd)
	}
	id, _, _ := statID(path)
	return id
}

func (s thisSystem) Inode() uint64 { return s.identity().inode }

// Place returns the eldest ancestor that has our open file under its number, with all between it and this process, or this
// process itself. One that this user may not look into is taken for the caller, which has it.
func (s thisSystem) Place() (place, error) {
	p := place{pid, s.fd}
	id, mode, err := statID("/proc/self/fd/" + strconv.Itoa(s.fd))
	if err != nil {
		return p, err
	}
	if kind := mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return p, stateError("only the open files of regular files and directories can have a directory lock")
	}
	if err := proc.CanTell(); err != nil {
		return p, err
	}
	if os.Getppid() == 0 {
		return p, stateError("the calling process is in another pid namespace")
	}
	for parent := os.Getppid(); parent > 0; parent = proc.Parent(parent) {
		its := place{parent, s.fd}
		if _, err := os.Stat(descriptorPath(its)); errors.Is(err, os.ErrPermission) && p.pid == pid && proc.IsCaller(parent) {
			return its, nil
		}
		if !s.isSame(its, id) {
			break
		}
		p = its
	}
	return p, nil
}

// isSame reports whether a descriptor of another process is our open file. Without kcmp(2), one of the same file is.
func (s thisSystem) isSame(p place, id fileID) bool {
	if is, known := sameOpenFile(p, place{pid, s.fd}); known {
		return is
	}
	other, _, err := statID(descriptorPath(p))
	return err == nil && other == id
}

// sameOpenFile compares two descriptors by kcmp(2), which some kernels and container runtimes lack.
func sameOpenFile(p, q place) (same, known bool) {
	const kcmpFile = 0
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p.pid), uintptr(q.pid), kcmpFile, uintptr(p.number), uintptr(q.number), 0)
	return r == 0 && errno == 0, errno == 0 || errno == unix.EBADF || errno == unix.ESRCH
}

func (s thisSystem) Marked(f *openFile) bool {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	if err != nil || flags&f.mark.flag() == 0 {
		return false
	}
	signal, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETSIG, 0)
	return err == nil && signal == f.signal && s.Inode() == f.inode
}

func (s thisSystem) Mark(signal int, m mark) error {
	if _, err := unix.FcntlInt(uintptr(s.fd), unix.F_SETSIG, signal); err != nil {
		return err
	}
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(s.fd), unix.F_SETFL, flags|m.flag())
	return err
}

func (s thisSystem) Unmark(m mark) {
	if flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0); err == nil {
		unix.FcntlInt(uintptr(s.fd), unix.F_SETFL, flags&^m.flag())
	}
	unix.FcntlInt(uintptr(s.fd), unix.F_SETSIG, 0)
}

func (s thisSystem) At(record string, f *openFile) answer {
	found, err := isMarked(f.place, s.identity().device, f)
	isUnknown := errors.Is(err, os.ErrPermission) && !proc.IsZombie(f.pid) || errors.Is(err, os.ErrNotExist) && isHidden(f.pid)
	if !found && !isUnknown {
		return absent
	}
	var stat unix.Stat_t
	if unix.Fstatat(s.dirfd, record, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
		s.keepYoung(record, &stat)
	}
	if found {
		return alive
	}
	return unknown
}

// isHidden reports whether a process lives that /proc does not show, as with the mount option hidepid.
func isHidden(pid int) bool {
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
		return false
	}
	return unix.Kill(pid, 0) != unix.ESRCH
}

// isMarked reports whether a descriptor is an open file like one of these, on this device.
func isMarked(p place, device uint64, like ...*openFile) (is bool, err error) {
	id, _, err := statID(descriptorPath(p))
	if err != nil || id.device != device || !slices.ContainsFunc(like, func(f *openFile) bool { return f.inode == id.inode }) {
		return false, err
	}
	flags, err := flagsOf(p)
	return err == nil && slices.ContainsFunc(like, func(f *openFile) bool {
		return f.inode == id.inode && flags&f.mark.flag() != 0
	}), err
}

// flagsOf returns the status flags and the access mode of a descriptor, from proc_pid_fdinfo(5).
func flagsOf(p place) (int, error) {
	text, err := proc.ReadSmall("/proc/" + strconv.Itoa(p.pid) + "/fdinfo/" + strconv.Itoa(p.number))
	if err != nil {
		return 0, err
	}
	_, line, _ := bytes.Cut(text, []byte("flags:\t"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	flags, err := strconv.ParseInt(string(line), 8, 64)
	return int(flags), err
}
