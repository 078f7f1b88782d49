//go:build unix && !(darwin || dragonfly || freebsd || linux)

package main

// onNetwork cannot be told here.
func onNetwork(int) bool { return false }
