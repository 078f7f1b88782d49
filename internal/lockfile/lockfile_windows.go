package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// No descriptor can be locked on Windows. The lock file is only a name.

// Open makes sure that the lock file exists and can be read.
func Open(name string, _ Access) (*File, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0666)
	}
	if err != nil {
		return nil, err
	}
	return Unopened(name), file.Close()
}

// IsOpen returns true: Windows passes no descriptors.
func (*File) IsOpen() bool { return true }

// Writable and IsOverwritten have nothing to tell: Windows passes no descriptors.
func (*File) Writable() (bool, error) { return true, nil }
func (*File) IsOverwritten() bool     { return false }

// CloseOnExec has nothing to do: nothing is open.
func (*File) CloseOnExec() {}

// Close has nothing to do.
func (*File) Close() {}

// ReopenByName makes sure that the file exists.
func (f *File) ReopenByName() error {
	_, err := Open(f.Name, f.access)
	return err
}

// IsNamed reports whether the file exists.
func (f *File) IsNamed() bool {
	_, err := os.Stat(f.Name)
	return err == nil
}

// IsDirectory reports whether the file is a directory.
func (f *File) IsDirectory() bool {
	info, err := os.Stat(f.Name)
	return err == nil && info.IsDir()
}

// OpenToRemove returns the file if Remove would remove it.
func OpenToRemove(name string, _ Access) (*File, error) {
	return Unopened(name), checkRemovable(name)
}

// Remove removes the file. This process must have locked its name exclusively. The error is a KeepReason if the file
// must stay.
func (f *File) Remove() error {
	if err := checkRemovable(f.Name); err != nil {
		return err
	}
	return os.Remove(f.Name)
}

// ModTime returns the modification time.
func (f *File) ModTime() (time.Time, error) {
	info, err := os.Stat(f.Name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// SetModTime sets the modification time and leaves the access time alone.
func (f *File) SetModTime(t time.Time) error { return os.Chtimes(f.Name, time.Time{}, t) }

// countLinks returns how many names the file has.
func countLinks(name string, _ os.FileInfo) (uint64, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var info syscall.ByHandleFileInformation
	err = syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info)
	return uint64(info.NumberOfLinks), err
}
