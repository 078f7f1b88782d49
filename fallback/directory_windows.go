package fallback

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tellsEnd is false: a wait ends when an event is set, not when the last handle of another one is closed.
var tellsEnd = false

// A directory is an open directory, as on Unix.
type directory struct{ root *os.Root }

// absolute returns a path as an absolute one. The system, too, takes ".." out before it follows links.
func absolute(path string) (string, error) { return filepath.Abs(path) }

// openDirectory opens a directory by the one around it, because os.OpenRoot would not let anybody rename it.
func openDirectory(path string) (*directory, error) {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return (&directory{parent}).open(filepath.Base(path))
}

// open opens a directory in d.
func (d *directory) open(name string) (*directory, error) {
	named, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, errIsLink
	case !named.IsDir():
		return nil, errNoDirectory
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &directory{root}, nil
}

func (d *directory) close() { d.root.Close() }

func (d *directory) names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// makeFIFO makes the name. The event of a lifeline is there when it is opened.
func (d *directory) makeFIFO(_, name string) error {
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *directory) mkdir(name string) error { return d.root.Mkdir(name, 0o777) }

func (d *directory) rmdir(name string) error { return d.Remove(name) }

func (d *directory) Remove(name string) error {
	err := d.root.Remove(name)
	if errors.Is(err, syscall.Errno(windows.ERROR_INVALID_FUNCTION)) {
		// Wine 8 does not have the call.
		err = os.Remove(filepath.Join(d.root.Name(), name))
	}
	return err
}

// Windows renames an open file, whatever its name has become since it was opened. Two contenders could both open the
// token under the name "free", one rename it and take the lock, and the other, later, rename it once more and take it
// away from the first. So whoever is to rename a file opens it without sharing: from there on its name is what it was.
func (d *directory) rename(old string, to *directory, name string) error {
	from, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	dir, err := to.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	h, err := openAlone(windows.Handle(from.Fd()), old)
	if err == nil {
		err = setName(h, windows.Handle(dir.Fd()), name)
		windows.CloseHandle(h)
	}
	if status, ok := err.(windows.NTStatus); ok {
		return status.Errno()
	}
	return err
}

// openAlone opens a file so that nobody else can rename it. Somebody who is about to do so has it open for a moment,
// and so may programs that look into every new file.
func openAlone(dir windows.Handle, name string) (h windows.Handle, err error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: dir, ObjectName: text}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		err = windows.NtCreateFile(&h, windows.DELETE|windows.SYNCHRONIZE, &attributes, new(windows.IO_STATUS_BLOCK),
			nil, 0,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN,
			windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT,
			0, 0)
		if err != windows.STATUS_SHARING_VIOLATION || time.Now().After(deadline) {
			return h, err
		}
	}
}

func setName(h, dir windows.Handle, name string) error {
	// struct FILE_RENAME_INFORMATION of ntifs.h
	var info struct {
		replace bool
		dir     windows.Handle
		length  uint32 // in bytes, without a NUL
		name    [windows.MAX_PATH]uint16
	}
	text, err := windows.UTF16FromString(name)
	if err != nil {
		return err
	}
	if len(text) > len(info.name) {
		return windows.ERROR_FILENAME_EXCED_RANGE
	}
	info.dir, info.length = dir, uint32(copy(info.name[:], text)-1)*2
	return windows.NtSetInformationFile(h, new(windows.IO_STATUS_BLOCK), (*byte)(unsafe.Pointer(&info)),
		uint32(unsafe.Sizeof(info)), windows.FileRenameInformation)
}

func (d *directory) device() (string, error) { return "", nil }

// A lifeline is a named event: it is there as long as somebody has a handle on it.
type lifeline windows.Handle

func eventName(name string) *uint16 {
	text, _ := windows.UTF16PtrFromString(`Global\flock-` + idOf(name))
	return text
}

func (d *directory) OpenLifeline(name string) (lifeline, error) {
	h, err := windows.CreateEvent(nil, 0, 0, eventName(name))
	if err != nil && h == 0 {
		return 0, err
	}
	return lifeline(h), nil
}

func (d *directory) CloseLifeline(l lifeline) { windows.CloseHandle(windows.Handle(l)) }

func (l lifeline) inherit(fd int) (moved lifeline, file int, err error) {
	err = windows.SetHandleInformation(windows.Handle(l), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	return l, fd, err
}

func (l lifeline) ring() { windows.SetEvent(windows.Handle(l)) }

func (d *directory) Ask(name string) answer {
	switch _, err := d.root.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return noName
	case err != nil:
		return unknown
	}
	h, err := windows.OpenEvent(windows.SYNCHRONIZE, false, eventName(name))
	switch err {
	case nil:
		windows.CloseHandle(h)
		return hasReader
	case windows.ERROR_FILE_NOT_FOUND:
		return noReader
	}
	return unknown // another user's
}

func (d *directory) Ring(name string) {
	if h, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, eventName(name)); err == nil {
		lifeline(h).ring()
		windows.CloseHandle(h)
	}
}

// wait waits for the own event: nothing tells when another one is gone.
func (d *directory) wait(own lifeline, _ []string, limit time.Duration) (timedOut bool, err error) {
	event, err := windows.WaitForSingleObject(windows.Handle(own), uint32(limit/time.Millisecond)+1)
	return err == nil && event != windows.WAIT_OBJECT_0, err
}

func isMountPoint(string) bool { return false }
