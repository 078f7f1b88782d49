//go:build unix && !(linux && flock_linkname && (amd64 || arm64))

package cstart

import "syscall"

// NoteSender has nothing to do: nothing tells who sends a signal.
func NoteSender(syscall.Signal) {}

// SentByProcess reports whether a process has sent the signal since it was last asked; false where nothing tells.
func SentByProcess(syscall.Signal) bool { return false }
