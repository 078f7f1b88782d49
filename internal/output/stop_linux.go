package output

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreStop lets this goroutine write to the terminal from a process group in the background, even if that stops who
// does so (stty tostop): the whole process would be stopped, with the lock.
func ignoreStop() {
	runtime.LockOSThread()
	var set unix.Sigset_t
	const number = uintptr(unix.SIGTTOU) - 1
	const bits = unsafe.Sizeof(set.Val[0]) * 8
	set.Val[number/bits] |= 1 << (number % bits)
	unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}
