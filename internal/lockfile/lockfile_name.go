//go:build plan9 || windows

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// No descriptor can be locked here. The lock file is only a name.

// Open makes sure that the lock file exists and can be read.
func Open(name string, _ Access) (*File, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0666)
	}
	if err != nil {
		return nil, err
	}
	return &File{Name: name, FD: -1, ByName: true}, file.Close()
}

// Opened returns the file as Open does.
func Opened(name string, fd, flags int) *File { return Unopened(name) }

// Descriptor returns a file that cannot be locked.
func Descriptor(n int) *File { return &File{Name: strconv.Itoa(n), FD: -1} }

func (*File) CanReopen() bool         { return false }
func (*File) CheckReopen() error      { return errors.ErrUnsupported }
func (*File) Reopen() error           { return errors.ErrUnsupported }
func (*File) Writable() (bool, error) { return true, nil }
func (*File) Move()                   {}
func (*File) Close()                  {}
func (*File) CloseOnExec()            {}

func (f *File) ModTime() (time.Time, error) {
	info, err := os.Stat(f.Name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (f *File) SetModTime(t time.Time) error { return os.Chtimes(f.Name, time.Time{}, t) }
