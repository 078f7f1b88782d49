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
		size     = 1392 // KINFO_FILE_SIZE
		pathFrom = size - 1024
	)
	var info [size]byte
	binary.NativeEndian.PutUint32(info[:], size) // kf_structsize
	if _, err := unix.FcntlInt(uintptr(fd), fKinfo, int(uintptr(unsafe.Pointer(&info)))); err != nil {
		return "", err
	}
	path := unix.ByteSliceToString(info[pathFrom:])
	if path == "" {
		return "", errors.New("cannot find the name of its file")
	}
	return path, nil
}
