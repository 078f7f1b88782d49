//go:build unix

package main

import (
	"io"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Native locks: one call to the kernel, on a descriptor. The lock belongs to
// the open file, so it lasts until the last descriptor of that open file, in
// whatever process, is closed.
//
// Each kind has a file per family of systems: fdlock_flock*.go has flock(2),
// fdlock_ofd*.go the open file description locks of fcntl(2).

// lockFile is the open file that is locked.
type lockFile struct {
	name  string // as the user gave it, for messages
	fd    int
	named bool // opened by us, under its name
	mode  int  // what it was opened for, if named: O_RDONLY ...
	asked bool // for a lock

	release func() // the lock, once it is there
}

// statLockFile takes a look at the lock file without opening it.
func statLockFile(o *options) (*lockFile, error) {
	f := &lockFile{name: o.file, named: o.hasFile, fd: o.fd}
	if !f.named {
		f.name = strconv.Itoa(o.fd)
	}
	if err := f.stat(new(unix.Stat_t)); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *lockFile) stat(stat *unix.Stat_t) error {
	if !f.named {
		if err := unix.Fstat(f.fd, stat); err != nil {
			return &stepError{locking, f.name, err}
		}
		return nil
	}
	if err := unix.Stat(f.name, stat); err != nil {
		return &stepError{opening, f.name, err}
	}
	return nil
}

// openLockFile opens the lock file, or takes the descriptor that was given.
//
// The call is the plain one: the command inherits the descriptor, which is the
// lowest free number, and nothing else about the open file may change.
func openLockFile(o *options) (*lockFile, error) {
	if !o.hasFile {
		f := &lockFile{name: strconv.Itoa(o.fd), fd: o.fd}
		return f, f.permitted(o)
	}
	f := &lockFile{name: o.file, named: true, mode: syscall.O_RDONLY}
	if o.backend == byFcntl && o.op == exclusive {
		f.mode = syscall.O_WRONLY // F_WRLCK wants a descriptor open for writing
	}
	if o.permits > 0 {
		f.mode = syscall.O_RDWR
	}
	return f, f.open()
}

// permitted refuses a descriptor that cannot have a permit: its byte can be
// locked only if it is open for writing.
func (f *lockFile) permitted(o *options) error {
	if o.permits == 0 {
		return nil
	}
	flags, err := unix.FcntlInt(uintptr(f.fd), syscall.F_GETFL, 0)
	if err != nil {
		return &stepError{locking, f.name, err}
	}
	if flags&syscall.O_ACCMODE == syscall.O_RDONLY {
		return &stepError{permitting, f.name, syscall.EBADF}
	}
	return nil
}

func (f *lockFile) open() (err error) {
	if done, err := f.openedEarly(); done {
		return err
	}
	flags := f.mode | syscall.O_CREAT | syscall.O_NOCTTY
	f.fd, err = openRetry(f.name, flags)
	if err == syscall.EISDIR && f.mode != syscall.O_RDWR {
		// Linux refuses O_CREAT for a directory, whatever the access mode.
		f.mode = syscall.O_RDONLY
		f.fd, err = openRetry(f.name, syscall.O_RDONLY|syscall.O_NOCTTY)
	}
	if err != nil {
		return &stepError{opening, f.name, err}
	}
	return nil
}

// reopen opens the file for reading and writing, under the same number. Linux
// makes flock(2) on NFSv4 from a byte lock, which for an exclusive lock wants
// a descriptor open for writing, and says EBADF or EIO. Whether the file may be
// written is asked first, as of a directory open(2) says nothing but EISDIR.
func (f *lockFile) reopen() error {
	if err := unix.Access(f.name, unix.R_OK|unix.W_OK); err != nil {
		return &stepError{locking, f.name, err}
	}
	fd, err := openRetry(f.name, syscall.O_RDWR|syscall.O_NOCTTY)
	if err == syscall.EISDIR {
		return &stepError{locking, f.name, err}
	} else if err != nil {
		return &stepError{opening, f.name, err}
	}
	syscall.Close(f.fd)
	again, err := unix.FcntlInt(uintptr(fd), syscall.F_DUPFD, f.fd)
	if err != nil {
		again = fd
	} else {
		syscall.Close(fd)
	}
	f.fd, f.mode = again, syscall.O_RDWR
	return nil
}

func openRetry(name string, flags int) (int, error) {
	for {
		fd, err := syscall.Open(name, flags, 0o666)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// rangeLock is what fcntl(2) wants to know of the byte range of o.
func rangeLock(o *options) unix.Flock_t {
	lock := unix.Flock_t{Whence: io.SeekStart, Start: o.start, Len: o.length}
	switch o.op {
	case exclusive:
		lock.Type = unix.F_WRLCK
	case shared:
		lock.Type = unix.F_RDLCK
	case unlock:
		lock.Type = unix.F_UNLCK
	}
	return lock
}

// makeWay moves the descriptor out of the way: the second flock opens the file
// again, under the same number.
func (f *lockFile) makeWay() {
	fd, err := unix.FcntlInt(uintptr(f.fd), syscall.F_DUPFD, f.fd+10)
	if err != nil {
		fd = -1 // a number that is not ours must not be looked at
	}
	syscall.Close(f.fd)
	syscall.CloseOnExec(fd)
	f.fd = fd
}

func (f *lockFile) closeOnExec() { syscall.CloseOnExec(f.fd) }
