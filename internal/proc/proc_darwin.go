package proc

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ThisMachine() Machine {
	// A UUID made at boot. The system has nothing as simple for the machine itself.
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	return Machine{Boot: boot}
}

// Start reads struct kinfo_proc, sys/sysctl.h, and the state SZOMB of sys/proc.h.
func Start(pid int) (start string, alive bool) {
	const zombie = 5
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		err := unix.Kill(pid, 0)
		return "", err == nil || err == unix.EPERM
	}
	began := info.Proc.P_starttime
	return strconv.FormatInt(began.Sec, 10) + "." + strconv.Itoa(int(began.Usec)), info.Proc.P_stat != zombie
}

// Path returns the name under which a descriptor's file was opened.
func Path(fd int) (string, error) {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETPATH, int(uintptr(unsafe.Pointer(&path)))); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(path[:]), nil
}

// path has MAXPATHLEN bytes, which fcntl(2) requires for F_GETPATH. It is not on the stack, which may move before the call.
var path [1024]byte
