//go:build !linux

package main

func restoreMask() {}

// outlastAlarm would keep a SIGALRM of somebody's from ending a wait.
func outlastAlarm() {}
