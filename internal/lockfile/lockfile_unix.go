//go:build unix

package lockfile

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// Open opens the lock file or directory. It creates a file that does not exist.
func Open(name string, access Access) (*File, error) {
	f := &File{Name: name, ByName: true, access: access}
	var err error
	f.FD, err = open(name, int(access)|syscall.O_CREAT)
	switch {
	case err == syscall.EISDIR && access != ReadWrite:
		// Linux refuses O_CREAT for a directory, whatever the access mode.
		f.access = Read
		f.FD, err = open(name, syscall.O_RDONLY)
	case err == syscall.EACCES:
		if fd, failed := openProtected(name, access); failed == nil {
			f.FD, err = fd, nil
		}
	}
	return f, err
}

// ReopenByName closes the file and opens the file that its name refers to now.
func (f *File) ReopenByName() error {
	f.Close()
	again, err := Open(f.Name, f.access)
	*f = *again
	return err
}

// Close closes the file.
func (f *File) Close() { syscall.Close(f.FD) }

func open(name string, flags int) (int, error) {
	return sys.Retry(func() (int, error) { return syscall.Open(name, flags|syscall.O_NOCTTY, 0o666) })
}

// CanReopen reports whether the file can be reopened by its name for more access than it has.
func (f *File) CanReopen() bool { return f.ByName && f.access != ReadWrite }

// CheckWritable returns the error that ReopenForWriting would get. For a directory open(2) says EISDIR even if the user
// may not write to it.
func (f *File) CheckWritable() error {
	err := unix.Access(f.Name, unix.R_OK|unix.W_OK)
	if err != nil {
		return err
	}
	if f.IsDirectory() {
		return syscall.EISDIR
	}
	return nil
}

// IsDirectory reports whether the file is a directory.
func (f *File) IsDirectory() bool {
	var stat unix.Stat_t
	return unix.Fstat(f.FD, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR
}

// ReopenForWriting opens the file for reading and writing, under the same number.
func (f *File) ReopenForWriting() error {
	fd, err := open(f.Name, syscall.O_RDWR)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err = unix.Dup2(fd, f.FD); err == nil {
		f.access = ReadWrite
	}
	return err
}

// IsOpen reports whether the descriptor is open.
func (f *File) IsOpen() bool {
	_, err := unix.FcntlInt(uintptr(f.FD), syscall.F_GETFD, 0)
	return err == nil
}

// Writable reports whether the descriptor is open for writing.
func (f *File) Writable() (bool, error) {
	flags, err := unix.FcntlInt(uintptr(f.FD), syscall.F_GETFL, 0)
	return flags&syscall.O_ACCMODE != syscall.O_RDONLY, err
}

// IsOverwritten reports whether the descriptor is open for writing only, and not for appending: as by N>FILE of a shell,
// which empties the file.
func (f *File) IsOverwritten() bool {
	flags, err := unix.FcntlInt(uintptr(f.FD), syscall.F_GETFL, 0)
	return err == nil && flags&(syscall.O_ACCMODE|syscall.O_APPEND) == syscall.O_WRONLY
}

// CloseOnExec keeps the command from inheriting the descriptor.
func (f *File) CloseOnExec() { syscall.CloseOnExec(f.FD) }

// ModTime returns the modification time.
func (f *File) ModTime() (time.Time, error) {
	var stat unix.Stat_t
	var err error
	if f.FD >= 0 {
		err = unix.Fstat(f.FD, &stat)
	} else {
		err = unix.Stat(f.Name, &stat)
	}
	return time.Unix(stat.Mtim.Unix()), err
}
