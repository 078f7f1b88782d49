package early

import "syscall"

// fileLimit is the limit of open files as the process got it. It is 0 if forbidFiles has not changed it.
var fileLimit syscall.Rlimit

// FileLimit returns the limit of open files that the process is to have again, or nil.
func FileLimit() *syscall.Rlimit {
	if fileLimit.Max == 0 {
		return nil
	}
	return &fileLimit
}
