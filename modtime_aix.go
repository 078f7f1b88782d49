package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func modTime(stat *unix.Stat_t) time.Time { return time.Unix(stat.Mtim.Unix()) }

// setModTime would need futimens(2), which x/sys/unix does not have here.
func setModTime(int, time.Time) error { return syscall.ENOSYS }
