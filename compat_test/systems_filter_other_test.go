//go:build unix && !linux

package compat_test

const canHideLocks = false

func canForbidKcmp() bool { return false }

func hasEarlyRun() bool { return false }
