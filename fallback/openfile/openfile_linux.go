package openfile

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

func (m Mark) flag() int {
	if m == NoAtime {
		return unix.O_NOATIME
	}
	return unix.O_NONBLOCK
}

// statID returns the identity and the mode of the file at a path below an open directory, or of an open file itself. It
// does not ask the server of a network filesystem, which may be gone.
func statID(dir int, path string) (id FileID, mode uint16, err error) {
	var s unix.Statx_t
	err = unix.Statx(dir, path, unix.AT_STATX_DONT_SYNC|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_TYPE, &s)
	return FileID{unix.Mkdev(s.Dev_major, s.Dev_minor), s.Ino}, s.Mode, err
}

func descriptorPath(p Location) string { return procDir(p.PID) + "/fd/" + strconv.Itoa(p.Number) }

// ID returns the identity of the locked file, zero if it is unknown: by a descriptor, if there is one, because its name
// may be gone.
func (t *Table) ID() (id FileID) {
	switch {
	case t.Opened >= 0:
		id, _, _ = statID(t.Opened, "")
	case t.Path != "":
		id, _, _ = statID(unix.AT_FDCWD, t.Path)
	}
	return id
}

// Locate returns where the eldest ancestor has our open file, if all processes between it and this one have it, too. If
// no ancestor has it, it returns where this process does; but a parent into which this user may not look is taken for
// the caller, which has it.
//
//	sh 100 has 9 -> sh 110 has 9 -> flock 120         sh 100
//	sh 100 has 9 -> setsid 110 has ended, flock 120   flock 120, because its parent is process 1 by now
func (t *Table) Locate() (Location, error) {
	eldest := Location{PID: os.Getpid(), Number: t.FD, Start: proc.Start(os.Getpid())}
	if err := proc.CheckOwn(); err != nil {
		return eldest, err
	}
	parent := os.Getppid()
	if parent == 0 {
		return eldest, errors.New("the calling process is in another pid namespace")
	}
	for ancestor := parent; ; {
		its, err := proc.ReadStat(ancestor)
		if err != nil { // it can end at any moment: a script that is killed
			return eldest, nil
		}
		at, has := t.findIn(ancestor)
		if !has && ancestor == parent && isHiddenCaller(parent, t.FD) {
			return Location{PID: parent, Number: t.FD, Start: its.Start}, nil
		}
		if !has {
			return eldest, nil
		}
		at.Start = its.Start
		eldest, ancestor = at, its.Parent
	}
}

// findIn returns where a process has our open file: under its number, or under another one, as with "flock 0 <&9".
func (t *Table) findIn(other int) (at Location, has bool) {
	if at = (Location{PID: other, Number: t.FD}); t.isOurs(at) {
		return at, true
	}
	numbers, _ := proc.Numbers(procDir(other) + "/fd")
	for _, number := range numbers {
		if at = (Location{PID: other, Number: number}); t.isOurs(at) {
			return at, true
		}
	}
	return at, false
}

// isHiddenCaller reports whether a parent may not be looked into, and seems to be the one that called us.
func isHiddenCaller(parent, number int) bool {
	_, err := os.Stat(descriptorPath(Location{PID: parent, Number: number}))
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
func (t *Table) isOurs(p Location) bool {
	if is, known := sameOpenFile(p, Location{PID: os.Getpid(), Number: t.FD}); known {
		return is
	}
	other, _, err := statID(unix.AT_FDCWD, descriptorPath(p))
	return err == nil && other == t.ID()
}

// sameOpenFile compares two descriptors by kcmp(2), which some kernels and container runtimes lack.
func sameOpenFile(p, q Location) (same, known bool) {
	const kcmpFile = 0
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(p.PID), uintptr(q.PID), kcmpFile, uintptr(p.Number),
		uintptr(q.Number), 0)
	return r == 0 && errno == 0, errno == 0 || errno == unix.EBADF || errno == unix.ESRCH
}

// Marked reports whether our open file has the mark and the signal of f, and is of its file.
func (t *Table) Marked(f *File) bool {
	flags, err := unix.FcntlInt(uintptr(t.FD), unix.F_GETFL, 0)
	if err != nil || flags&f.Mark.flag() == 0 {
		return false
	}
	signal, err := unix.FcntlInt(uintptr(t.FD), unix.F_GETSIG, 0)
	return err == nil && signal == f.Signal && t.ID() == f.FileID
}

// Mark gives our open file a signal and a mark.
func (t *Table) Mark(signal int, m Mark) error {
	if _, err := unix.FcntlInt(uintptr(t.FD), unix.F_SETSIG, signal); err != nil {
		return err
	}
	flags, err := unix.FcntlInt(uintptr(t.FD), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(t.FD), unix.F_SETFL, flags|m.flag())
	return err
}

// Unmark takes both away. It leaves an open file alone that has no signal: Mark sets that first, and it goes last.
func (t *Table) Unmark() {
	signal, err := unix.FcntlInt(uintptr(t.FD), unix.F_GETSIG, 0)
	if err != nil || signal == 0 {
		return
	}
	if flags, err := unix.FcntlInt(uintptr(t.FD), unix.F_GETFL, 0); err == nil {
		unix.FcntlInt(uintptr(t.FD), unix.F_SETFL, flags&^(NoAtime.flag()|NonBlock.flag()))
	}
	unix.FcntlInt(uintptr(t.FD), unix.F_SETSIG, 0)
}

// At asks whether an open file is where it was. It looks at the descriptor and, if that does not tell, at the process:
//
//	the descriptor                      the process                             the answer
//	is of the file and has the mark                                             There
//	is another file, or has no mark                                             NotThere
//	is not there                        is shown, or there is none              NotThere
//	may not be looked at                has ended, and has no descriptors       NotThere
//	any of the two, or another error    has ended since                         NotThere
//	                                    was started at another time than f's    NotThere: its id was used again
//	                                    all else                                Unknown
func (t *Table) At(f *File, sharesClock bool) Answer {
	isThere, err := isWhereRecorded(f)
	switch {
	case isThere:
		return There
	case err == nil:
		return NotThere
	case isNowhere(err) && !isHidden(f.PID):
		return NotThere
	case sys.LacksPermission(err) && isZombie(f.PID):
		return NotThere
	}
	its, err := proc.ReadStat(f.PID)
	switch isComparable := sharesClock && f.Start != 0; {
	case isNowhere(err) && !isHidden(f.PID):
		return NotThere
	case err == nil && isComparable && its.Start != f.Start:
		return NotThere
	}
	return Unknown
}

// isWhereRecorded reports whether the descriptor that a record names is an open file with its mark.
func isWhereRecorded(f *File) (bool, error) {
	id, _, err := statID(unix.AT_FDCWD, descriptorPath(f.Location))
	if err != nil {
		return false, err
	}
	return isMarked(f.Location, id, f)
}

// isNowhere reports whether an error says that there is no such process or descriptor. No other error tells that.
func isNowhere(err error) bool { return sys.Is(err, unix.ENOENT, unix.ESRCH) }

// isMarked reports whether a descriptor, of the file id, is an open file like one of these.
func isMarked(p Location, id FileID, like ...*File) (bool, error) {
	isLike := func(f *File) bool { return f.FileID == id }
	if !slices.ContainsFunc(like, isLike) {
		return false, nil
	}
	flags, err := flagsOf(p)
	isLikeAndMarked := func(f *File) bool { return isLike(f) && flags&f.Mark.flag() != 0 }
	return err == nil && slices.ContainsFunc(like, isLikeAndMarked), err
}

// flagsOf returns the status flags and the access mode of a descriptor, from proc_pid_fdinfo(5).
func flagsOf(p Location) (int, error) {
	text, err := proc.ReadSmall(procDir(p.PID) + "/fdinfo/" + strconv.Itoa(p.Number))
	if err != nil {
		return 0, err
	}
	flags, err := strconv.ParseInt(proc.Field(text, "flags"), 8, 64)
	return int(flags), err
}

// Check reports an error if the open file that is our descriptor fd can have no directory lock.
func Check(fd int) error {
	_, mode, err := statID(fd, "")
	if kind := mode & unix.S_IFMT; err == nil && kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return errors.New("only the open files of regular files and directories can have a directory lock")
	}
	return err
}
