package fallback

import (
	"strconv"

	"golang.org/x/sys/unix"
)

func machine() Owner {
	// A UUID made at boot. There is nothing as simple for the machine itself.
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	return Owner{Boot: boot}
}

// processStart reads struct kinfo_proc, sys/sysctl.h, and the state SZOMB of sys/proc.h.
func processStart(pid int) (string, bool) {
	const zombie = 5
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", exists(pid)
	}
	start := info.Proc.P_starttime
	return strconv.FormatInt(start.Sec, 10) + "." + strconv.Itoa(int(start.Usec)), info.Proc.P_stat != zombie
}

func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}
