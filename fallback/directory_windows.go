package fallback

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

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
		err = status.Errno()
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: old, New: name, Err: err}
	}
	return nil
}

// openAlone opens a file so that nobody else can rename it. Somebody who is about to do so has it open for a moment, and
// so may programs that look into every new file.
func openAlone(dir windows.Handle, name string) (h windows.Handle, err error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: dir, ObjectName: text}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		err = windows.NtCreateFile(&h, windows.DELETE|windows.SYNCHRONIZE, &attributes, new(windows.IO_STATUS_BLOCK), nil, 0,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN,
			windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
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

func (d *directory) remove(name string) error {
	err := d.root.Remove(name)
	if errors.Is(err, syscall.Errno(windows.ERROR_INVALID_FUNCTION)) {
		// Wine 8 does not have the call.
		err = os.Remove(filepath.Join(d.root.Name(), name))
	}
	return err
}
