package locks

// From <sys/fcntl.h>; x/sys/unix does not have them.
const (
	setLock     = 90 // F_OFD_SETLK
	setLockWait = 91 // F_OFD_SETLKW
)
