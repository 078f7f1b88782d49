//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

func (f *lockFile) modTime() (time.Time, error) {
	var stat unix.Stat_t
	if f.fd < 0 { // not opened
		err := f.stat(&stat)
		return modTime(&stat), err
	}
	err := unix.Fstat(f.fd, &stat)
	return modTime(&stat), err
}

func (f *lockFile) setModTime(t time.Time) error { return setModTime(f.fd, t) }
