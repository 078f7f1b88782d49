//go:build unix && !linux

package main

import "syscall"

func restoreMask() {}

// outlastAlarm would keep a SIGALRM of somebody's from ending a wait. Here it
// only sets the default action, which a handler would become in the command.
func outlastAlarm() { defaultAction(syscall.SIGALRM) }
