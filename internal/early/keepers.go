//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openAnother opens the file of a descriptor once more, without which nobody can ask afterwards whether its lock was
// inherited. It fails where the ordinary run must ask in another way, where a standard file is closed, which the lock
// file must not replace, and for a number of two digits. The file is a regular one or a directory: see isSpecial.
func openAnother(fd int) (another int, ok bool) {
	const digits = "0123456789"
	if fd <= 2 || fd >= len(digits) || !isLocal(fd) {
		return -1, false
	}
	n := write(write(0, "/proc/self/fd/"), digits[fd:fd+1])
	buffer[n] = 0
	another, errno := open(unsafe.Pointer(&buffer), syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC)
	return another, errno == 0
}

// isKept lets the lock go and reports whether it is still held: by others who have the open file, or because the next
// one has taken it.
func isKept(fd, another int) bool {
	closeFd(fd)
	_, errno := call(syscall.SYS_FLOCK, uintptr(another), syscall.LOCK_SH|syscall.LOCK_NB, 0, 0)
	return errno != 0
}

// isSpecial reports whether the name is that of neither a regular file nor a directory. Whose lock it is cannot be asked
// there, and a serial line that is opened only to be closed again resets what is at its end.
func isSpecial(name unsafe.Pointer) bool {
	var stat syscall.Stat_t
	_, errno := call(unix.SYS_NEWFSTATAT, here, address(name), address(unsafe.Pointer(&stat)), 0)
	kind := stat.Mode & syscall.S_IFMT
	return errno == 0 && kind != syscall.S_IFREG && kind != syscall.S_IFDIR
}

// isLocal reports whether the locks of a file are this kernel's.
func isLocal(fd int) bool {
	var fs syscall.Statfs_t
	_, errno := call(syscall.SYS_FSTATFS, uintptr(fd), address(unsafe.Pointer(&fs)), 0, 0)
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return false
	}
	return errno == 0
}
