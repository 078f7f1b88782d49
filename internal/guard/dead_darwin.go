package guard

import "golang.org/x/sys/unix"

// A signal to a group of the dead is EPERM on macOS (killpg1 of XNU, bsd/kern/kern_sig.c), as to one of another user.
func init() {
	const zombie = 5 // SZOMB in sys/proc.h
	isOfTheDead = func(group int) bool {
		list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
		for _, p := range list {
			if p.Proc.P_stat != zombie {
				return false
			}
		}
		return err == nil
	}
}
