package output

import (
	"errors"

	"example.org/flock/internal/kernlock"
)

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

// WarnRefusal says, with --verbose, that another process holds the lock: err is kernlock.ErrConflict or ErrTimeout.
func (p *Printer) WarnRefusal(err error) {
	if errors.Is(err, kernlock.ErrTimeout) {
		p.WarnVerbose("timeout while waiting to get lock")
	} else {
		p.WarnVerbose("failed to get lock")
	}
}
