//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// There are no native locks here, and a lock file is only a name.

type lockFile struct {
	name  string // as the user gave it
	fd    int    // always -1
	named bool   // always

	release func() // the lock, once it is there
}

// openLockFile makes sure that the lock file is there, and may be read.
func openLockFile(o *options) (*lockFile, error) {
	file, err := os.Open(o.file)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.OpenFile(o.file, os.O_RDWR|os.O_CREATE, 0666)
	}
	if err != nil {
		return nil, &stepError{opening, o.file, err}
	}
	file.Close()
	return &lockFile{name: o.file, fd: -1, named: true}, nil
}

// statLockFile takes a look at the lock file without opening it.
func statLockFile(o *options) (*lockFile, error) {
	if _, err := os.Stat(o.file); err != nil {
		return nil, &stepError{opening, o.file, err}
	}
	return &lockFile{name: o.file, fd: -1, named: true}, nil
}

func (f *lockFile) modTime() (time.Time, error) {
	info, err := os.Stat(f.name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (f *lockFile) setModTime(t time.Time) error { return os.Chtimes(f.name, time.Time{}, t) }

func (*lockFile) makeWay()     {}
func (*lockFile) closeOnExec() {}

func lockNative(*printer, *lockFile, *options) error { return errNoLocks }

// No process knows of another's descriptors here.

func descriptorPath(int) (string, error) { return "", errNoLocks }

func descriptorOwners(caller, fd int) (owner, keeper, number int) { return 0, 0, 0 }

func sameDescriptor(pid, number, fd int) bool { return false }

func hasDescriptor(pid, fd int) bool { return false }

func (openedFile) closedBy(pid, number int, id string) bool { return false }

func (*lockFile) identity() string { return "" }
