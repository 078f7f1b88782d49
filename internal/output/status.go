package output

import "example.org/flock/internal/kernlock"

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

// WarnConflict reports whether err says that another process holds the lock. That is an answer rather than an error, and
// printed with --verbose only.
func (p *Printer) WarnConflict(err error) bool {
	switch err {
	case kernlock.ErrConflict:
		p.WarnVerbose("failed to get lock")
	case kernlock.ErrTimeout:
		p.WarnVerbose("timeout while waiting to get lock")
	default:
		return false
	}
	return true
}
