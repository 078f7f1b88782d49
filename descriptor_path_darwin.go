package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// descriptorPath returns the name under which a descriptor's file was opened.
func descriptorPath(fd int) (string, error) {
	var path [1024]byte // MAXPATHLEN, as fcntl(2) wants it for F_GETPATH
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETPATH, int(uintptr(unsafe.Pointer(&path)))); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(path[:]), nil
}
