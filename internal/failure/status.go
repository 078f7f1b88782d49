package failure

// The exit statuses, named as in sysexits.h.
const (
	ExUsage       = 64
	ExDataErr     = 65
	ExNoInput     = 66
	ExUnavailable = 69
	ExOSErr       = 71
	ExCantCreat   = 73
	ExTempFail    = 75 // only of a lock that is far away
)
