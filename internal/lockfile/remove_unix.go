//go:build unix

package lockfile

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// IsNamed reports whether the name of the file still refers to the open file.
func (f *File) IsNamed() bool {
	var opened, named unix.Stat_t
	return unix.Fstat(f.FD, &opened) == nil && unix.Stat(f.Name, &named) == nil && sys.SameFile(&opened, &named)
}

// OpenToRemove opens a file that Remove would remove, but does not create one. The command does not inherit the
// descriptor.
func OpenToRemove(name string, access Access) (*File, error) {
	if err := checkRemovable(name); err != nil {
		return nil, err
	}
	// It may have become a link or a fifo meanwhile.
	fd, err := open(name, int(access)|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &File{Name: name, FD: fd, ByName: true, access: access}, nil
}

// Remove removes the file, which this process must have locked exclusively. The error is a KeepReason if the file must
// stay, and fs.ErrNotExist if it no longer has a name.
func (f *File) Remove() error {
	if err := checkRemovable(f.Name); err != nil {
		return err
	}
	if !f.IsNamed() {
		return fs.ErrNotExist
	}
	return unix.Unlink(f.Name)
}

func countLinks(_ string, info fs.FileInfo) (uint64, error) {
	return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil
}
