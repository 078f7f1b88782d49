package guard

import "golang.org/x/sys/unix"

// isOfTheDead reports whether a process group has only processes that have ended and wait for their parents. A signal
// to such a group is EPERM on macOS (killpg1 of XNU, bsd/kern/kern_sig.c), as to one of another user.
var isOfTheDead = func(group int) bool {
	const zombie = 5 // SZOMB in sys/proc.h
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	for _, p := range list {
		if p.Proc.P_stat != zombie {
			return false
		}
	}
	return err == nil
}
