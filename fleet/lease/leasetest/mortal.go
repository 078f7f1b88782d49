//go:build linux

package leasetest

import (
	"os/exec"
	"runtime"
	"syscall"
)

var starts = make(chan func())

func init() {
	go func() {
		// The parent-death signal belongs to the thread that forks. This one lives as long as the process.
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// StartMortal starts a command that the kernel kills when this process dies.
func StartMortal(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	return <-done
}
