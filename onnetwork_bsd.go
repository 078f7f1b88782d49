//go:build darwin || dragonfly || freebsd

package main

import "golang.org/x/sys/unix"

// onNetwork reports whether the file is on a filesystem of another machine.
func onNetwork(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && uint64(fs.Flags)&unix.MNT_LOCAL == 0
}
