//go:build unix && !linux

package compat_test

const canHideLocks = false

func hideLocks([]string) { panic("no filter for system calls here") }

func canForbidKcmp() bool { return false }

func hasEarlyRun() bool { return false }

func execWithoutThreads([]string) { panic("no filter for system calls here") }
