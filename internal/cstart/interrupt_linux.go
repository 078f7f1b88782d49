package cstart

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// InterruptBy makes a signal end a blocked system call with EINTR. With the handlers of the runtime the call would be
// resumed.
func InterruptBy(sig unix.Signal) error {
	catch(sig)
	var action sigaction
	if err := rtSigaction(sig, nil, &action); err != nil {
		return err
	}
	action.flags &^= saRestart
	return rtSigaction(sig, &action, nil)
}

const saRestart = 0x10000000 // SA_RESTART

func rtSigaction(sig unix.Signal, action, old *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(action)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(sigaction{}.mask), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
