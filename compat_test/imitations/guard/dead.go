//go:build ignore

package guard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// This is kill(2) of macOS: a signal to a process group of those who have ended, and wait for their parents, is EPERM.
// sysctl(3) tells that they have.
func init() { signalGroup, isOfTheDead = imitateKill, imitateDead }

func imitateKill(group int, s unix.Signal) error {
	if unix.Kill(-group, 0) == nil && imitateDead(group) {
		return unix.EPERM
	}
	return unix.Kill(-group, s)
}

func imitateDead(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		var parent, itsGroup int
		var state string
		fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent, &itsGroup) // behind the name
		if itsGroup == group && state != "Z" && state != "X" {
			return false
		}
	}
	return err == nil
}
