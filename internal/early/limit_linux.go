package early

import "syscall"

// The limit of open files as the process got it, if filesForbidden.
var (
	fileLimit      syscall.Rlimit
	filesForbidden bool
)

// FileLimit returns the limit of open files that the process is to have again, or nil.
func FileLimit() *syscall.Rlimit {
	if !filesForbidden {
		return nil
	}
	return &fileLimit
}
