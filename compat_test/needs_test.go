//go:build unix

package compat_test

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// A need that is not named here is a program that must be on PATH.
var needChecks = map[string]func() bool{
	"linux":   func() bool { return runtime.GOOS == "linux" },
	"root":    func() bool { return os.Geteuid() == 0 },
	"proc":    func() bool { return exists("/proc/self/fdinfo") },
	"locks":   func() bool { return exists("/proc/locks") },
	"full":    func() bool { return exists("/dev/full") },
	"python3": func() bool { return pythonPath != "" },
	"reflock": func() bool { return referencePath != "" },
	"mount":   func() bool { return succeeds("unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt") },
	"pidns":   func() bool { return succeeds("unshare", "-pf", "--mount-proc", "true") },
	"nokcmp":  canForbidKcmp,
	"sigenv":  func() bool { return succeeds("env", "--ignore-signal=PIPE", "--block-signal=USR1", "true") },
	"rlimits": func() bool { return succeeds("sh", "-c", "ulimit -Sn 100 && ulimit -Hn 512") },
}

var needResults sync.Map

// missing names the first need of a case that this machine does not meet.
func missing(c compatCase) string {
	if need := hiddenByQemu(c); need != "" {
		return need
	}
	for _, need := range c.needs {
		met, _ := needResults.LoadOrStore(need, sync.OnceValue(func() bool {
			if check, ok := needChecks[need]; ok {
				return check()
			}
			_, err := exec.LookPath(need)
			return err == nil
		}))
		if !met.(func() bool)() {
			return need
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func succeeds(name string, args ...string) bool {
	return exec.Command(name, args...).Run() == nil
}
