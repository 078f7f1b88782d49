package fallback

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

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
	return r == 0, errno == 0 || errno == unix.EBADF || errno == unix.ESRCH
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
	switch {
	case found:
	case errors.Is(err, os.ErrPermission):
	case errors.Is(err, os.ErrNotExist) && isHidden(f.pid):
	default:
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

// isMountPoint reports whether a file is a mount point (since Linux 5.8).
func isMountPoint(path string) bool {
	var file, dir unix.Statx_t
	around := path[:strings.LastIndexByte(path, '/')+1]
	return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &file) == nil &&
		unix.Statx(unix.AT_FDCWD, around, 0, unix.STATX_MNT_ID, &dir) == nil &&
		file.Mask&dir.Mask&unix.STATX_MNT_ID != 0 && file.Mnt_id != dir.Mnt_id
}

// A hunt looks for marked open files of a file in all processes.
type hunt struct {
	thisSystem
	device        uint64
	wanted, known []*openFile
	at            place
	uncertain     bool // without kcmp(2), one that is ours or known cannot be told from another
}

func (s thisSystem) Search(wanted, known []*openFile) (place, answer) {
	h := hunt{thisSystem: s, device: s.identity().device, wanted: wanted, known: known}
	found, complete := h.everywhere()
	switch {
	case found && !h.uncertain:
		return h.at, alive
	case found, !complete:
		return place{}, unknown
	}
	return place{}, gone
}

// maxCatchUps is how many times a search looks at the processes that were started meanwhile, before it gives up.
const maxCatchUps = 1000

// everywhere looks into all processes, and into those that are started meanwhile until there is no new one: they may have
// inherited from one that has been looked at before it had the open file. It does so twice, and stops at the first that is found.
func (h *hunt) everywhere() (found, complete bool) {
	for range 2 {
		seen, last := map[int]bool{}, 0
		for n := 0; ; n++ {
			pids, now, err := startedSince(last)
			if err != nil || n == maxCatchUps {
				return false, false
			}
			isNew := false
			for _, pid := range pids {
				if !seen[pid] && h.in(pid) {
					return true, true
				}
				isNew, seen[pid] = isNew || !seen[pid], true
			}
			if last = now; !isNew {
				break
			}
		}
	}
	return false, true
}

// startedSince returns the processes that may have been started after the id last was given out, all of them if nothing tells
// (gVisor), or if ids have come round. now is the last id by then.
func startedSince(last int) (pids []int, now int, err error) {
	now, _ = proc.Last()
	if last == 0 || now < last {
		pids, err = proc.Processes()
		return pids, now, err
	}
	for id := last + 1; id <= now; id++ {
		pids = append(pids, id)
	}
	return pids, now, nil
}

// in looks into a process, at its descriptors in ascending order and then in descending order: a shell moves a descriptor up
// before it closes the old number, and down afterwards. Where the first thread has ended, another one shows them.
func (h *hunt) in(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	for _, down := range []bool{false, true} {
		numbers, err := proc.Numbers(dir + "/fd")
		if err == nil && len(numbers) == 0 {
			if tasks, _ := proc.Numbers(dir + "/task"); len(tasks) > 1 {
				pid = tasks[len(tasks)-1]
				numbers, _ = proc.Numbers("/proc/" + strconv.Itoa(pid) + "/fd")
			}
		}
		for i := range numbers {
			if down {
				i = len(numbers) - 1 - i
			}
			p := place{pid, numbers[i]}
			if is, _ := isMarked(p, h.device, h.wanted...); is && !h.isKnown(p) {
				h.at = p
				return true
			}
		}
	}
	return false
}

// isKnown reports whether a descriptor is our open file, or one for which a record stands.
func (h *hunt) isKnown(p place) bool {
	others := []place{{pid, h.fd}}
	for _, f := range h.known {
		others = append(others, f.place)
	}
	for _, other := range others {
		if p == other {
			return true
		}
		same, known := sameOpenFile(p, other)
		if same && known {
			return true
		}
		h.uncertain = h.uncertain || !known && other.number >= 0
	}
	return false
}

// Openers looks into all processes. Who waits for a lifeline has it open for writing only.
func (s thisSystem) Openers(records []record) map[string][]int {
	device := s.identity().device
	ids := make([]fileID, len(records))
	for i, r := range records {
		if r.file != nil {
			ids[i] = fileID{device, r.file.inode}
		} else {
			ids[i], _, _ = statID(s.path + "/" + r.name)
		}
	}
	openers := map[string][]int{}
	pids, _ := proc.Processes()
	for _, other := range pids {
		numbers, _ := proc.Numbers("/proc/" + strconv.Itoa(other) + "/fd")
		for _, number := range numbers {
			p := place{other, number}
			id, _, err := statID(descriptorPath(p))
			for i, r := range records {
				if err == nil && other != pid && id == ids[i] && has(p, r) {
					openers[r.name] = append(openers[r.name], other)
				}
			}
		}
	}
	return openers
}

// has reports whether a descriptor of the right file is that of a record.
func has(p place, r record) bool {
	flags, err := flagsOf(p)
	if err != nil || r.file == nil {
		return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
	}
	same, known := sameOpenFile(p, r.file.place)
	return flags&r.file.mark.flag() != 0 && (p == r.file.place || same && known)
}
