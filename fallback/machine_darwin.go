package fallback

import (
	"encoding/hex"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// askMachine asks the system for a machine, but for the host and the device.
func askMachine() machine {
	boot, _ := unix.Sysctl("kern.bootsessionuuid") // made at boot
	return machine{boot: boot, id: hostUUID(), pidNS: onlyNamespace}
}

// hostUUID returns the answer of gethostuuid(2), which names the hardware, "" if there is none: then a place or a lock
// that a restart has ended counts as held. It is called as golang.org/x/sys calls libSystem, without cgo.
func hostUUID() string {
	var uuid [16]byte
	limit := unix.Timespec{Sec: 1} // for the driver that knows it, which is there soon after boot
	_, _, failed := syscall_syscall(addressOfGethostuuid,
		uintptr(unsafe.Pointer(&uuid)), uintptr(unsafe.Pointer(&limit)), 0)
	if failed != 0 {
		return ""
	}
	return hex.EncodeToString(uuid[:])
}

//go:cgo_import_dynamic libc_gethostuuid gethostuuid "/usr/lib/libSystem.B.dylib"

// addressOfGethostuuid is set in machine_darwin.s.
var addressOfGethostuuid uintptr

// The Go runtime has this for golang.org/x/sys, and lets others link to it, too.
//
//go:linkname syscall_syscall syscall.syscall
func syscall_syscall(fn, a1, a2, a3 uintptr) (r1, r2 uintptr, err syscall.Errno)
