package proc

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Path returns the name under which a descriptor's file was opened, from the struct kinfo_file that fcntl(2) gives for
// F_KINFO (FreeBSD 13.2).
func Path(fd int) (string, error) {
	const (
		fKinfo   = 22
		pathFrom = len(info) - 1024
	)
	binary.NativeEndian.PutUint32(info[:], uint32(len(info))) // kf_structsize
	if _, err := unix.FcntlInt(uintptr(fd), fKinfo, int(uintptr(unsafe.Pointer(&info)))); err != nil {
		return "", err
	}
	path := unix.ByteSliceToString(info[pathFrom:])
	if path == "" {
		return "", errors.New("cannot find the name of its file")
	}
	return path, nil
}

// info has the size KINFO_FILE_SIZE. It is not on the stack, which may move before the call.
var info [1392]byte
