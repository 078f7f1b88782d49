package fallback

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

func (m mark) flag() int {
	if m == noAtime {
		return unix.O_NOATIME
	}
	return unix.O_NONBLOCK
}

// A fileID is what stat(2) says of a file.
type fileID struct{ device, inode uint64 }

// statID returns the identity and the mode of the file at a path below an open directory, or of an open file itself. It
// does not ask the server of a network filesystem, which may be gone.
func statID(dir int, path string) (id fileID, mode uint16, err error) {
	var s unix.Statx_t
	err = unix.Statx(dir, path, unix.AT_STATX_DONT_SYNC|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_TYPE, &s)
	return fileID{unix.Mkdev(s.Dev_major, s.Dev_minor), s.Ino}, s.Mode, err
}

func descriptorPath(p place) string { return procDir(p.pid) + "/fd/" + strconv.Itoa(p.number) }

// identity returns the identity of the locked file: by a descriptor, if there is one, because its name may be gone.
func (s *thisSystem) identity() (fileID, error) {
	if s.opened >= 0 {
		id, _, err := statID(s.opened, "")
		return id, err
	}
	if s.file == "" {
		return fileID{}, unix.ENOENT
	}
	id, _, err := statID(unix.AT_FDCWD, s.file)
	return id, err
}

func (s *thisSystem) Inode() uint64 {
	id, _ := s.identity()
	return id.inode
}

// Place returns the eldest ancestor that has our open file under its number, with all between it and this process, or
// this process itself. If none is seen to have it, a parent into which this user may not look is taken for the caller,
// which has it.
func (s *thisSystem) Place() (place, error) {
	eldest := place{pid: ownPID, number: s.fd, start: ownStart()}
	if err := checkOwnProc(); err != nil {
		return eldest, err
	}
	parent := os.Getppid()
	if parent == 0 {
		return eldest, stateError("the calling process is in another pid namespace")
	}
	its, err := proc.ReadStat(parent) // it can end at any moment: a script that is killed
	parentStart, hasParent := its.Start, err == nil
	for ancestor := parent; err == nil; its, err = proc.ReadStat(ancestor) {
		at, has := s.findIn(ancestor)
		if !has {
			break
		}
		at.start = its.Start
		eldest, ancestor = at, its.Parent
	}
	if eldest.pid == ownPID && hasParent && isHiddenCaller(parent, s.fd) {
		return place{pid: parent, number: s.fd, start: parentStart}, nil
	}
	return eldest, nil
}

// findIn returns where a process has our open file: under its number, or under another one, as with "flock 0 <&9".
func (s *thisSystem) findIn(other int) (at place, has bool) {
	if at = (place{pid: other, number: s.fd}); s.isOurs(at) {
		return at, true
	}
	numbers, _ := proc.Numbers(procDir(other) + "/fd")
	for _, number := range numbers {
		if at = (place{pid: other, number: number}); s.isOurs(at) {
			return at, true
		}
	}
	return at, false
}

// isHiddenCaller reports whether a parent may not be looked into, and seems to be the one that called us.
func isHiddenCaller(parent, number int) bool {
	_, err := os.Stat(descriptorPath(place{pid: parent, number: number}))
	return errors.Is(err, os.ErrPermission) && isCaller(parent)
}

// isCaller reports whether a parent into which we may not look seems to be the one that called us, rather than one that
// has adopted us because the caller has ended: it is of our session, and not process 1.
func isCaller(parent int) bool {
	its, err := unix.Getsid(parent)
	our, _ := unix.Getsid(0)
	return parent != 1 && err == nil && its == our
}

// isOurs reports whether a descriptor of another process is our open file. Without kcmp(2), one of the same file is.
func (s *thisSystem) isOurs(p place) bool {
	if is, known := sameOpenFile(p, place{pid: ownPID, number: s.fd}); known {
		return is
	}
	other, _, err := statID(unix.AT_FDCWD, descriptorPath(p))
	id, err2 := s.identity()
	return err == nil && err2 == nil && other == id
}

// sameOpenFile compares two descriptors by kcmp(2), which some kernels and container runtimes lack.
func sameOpenFile(p, q place) (same, known bool) {
	const kcmpFile = 0
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p.pid), uintptr(q.pid), kcmpFile, uintptr(p.number),
		uintptr(q.number), 0)
	return r == 0 && errno == 0, errno == 0 || errno == unix.EBADF || errno == unix.ESRCH
}

func (s *thisSystem) Marked(f *openFile) bool {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	if err != nil || flags&f.mark.flag() == 0 {
		return false
	}
	signal, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETSIG, 0)
	return err == nil && signal == f.signal && s.Inode() == f.inode
}

func (s *thisSystem) Mark(signal int, m mark) error {
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

// Unmark leaves an open file alone that has no signal: Mark sets that first, and it goes last.
func (s *thisSystem) Unmark() {
	signal, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETSIG, 0)
	if err != nil || signal == 0 {
		return
	}
	if flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0); err == nil {
		unix.FcntlInt(uintptr(s.fd), unix.F_SETFL, flags&^(noAtime.flag()|nonBlock.flag()))
	}
	unix.FcntlInt(uintptr(s.fd), unix.F_SETSIG, 0)
}

func (s *thisSystem) At(f *openFile, sharesClock bool) answer {
	own, err := s.identity()
	if err != nil {
		return unknown
	}
	isThere, err := isWhereRecorded(f, own.device)
	switch {
	case isThere:
		return alive
	case err == nil: // the descriptor is another file, or has no mark
		return absent
	case isNowhere(err) && !isHidden(f.pid): // there is no such descriptor, or no such process
		return absent
	case sys.LacksPermission(err) && isZombie(f.pid): // it has ended; only root may see that it has no descriptors
		return absent
	}
	its, err := proc.ReadStat(f.pid)
	if isNowhere(err) && !isHidden(f.pid) { // the process has ended since
		return absent
	}
	if err == nil && sharesClock && f.start != 0 && its.Start != f.start { // its id is that of another process by now
		return absent
	}
	return unknown
}

// isWhereRecorded reports whether the descriptor that a record names is an open file with its mark, on this device.
func isWhereRecorded(f *openFile, device uint64) (bool, error) {
	id, _, err := statID(unix.AT_FDCWD, descriptorPath(f.place))
	if err != nil {
		return false, err
	}
	return isMarked(f.place, id, device, f)
}

// isNowhere reports whether an error says that there is no such process or descriptor. No other error tells that.
func isNowhere(err error) bool { return sys.Is(err, unix.ENOENT, unix.ESRCH) }

// isMarked reports whether a descriptor, of the file id, is an open file like one of these, on this device.
func isMarked(p place, id fileID, device uint64, like ...*openFile) (bool, error) {
	isLike := func(f *openFile) bool { return f.inode == id.inode }
	if id.device != device || !slices.ContainsFunc(like, isLike) {
		return false, nil
	}
	flags, err := flagsOf(p)
	isLikeAndMarked := func(f *openFile) bool { return isLike(f) && flags&f.mark.flag() != 0 }
	return err == nil && slices.ContainsFunc(like, isLikeAndMarked), err
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
