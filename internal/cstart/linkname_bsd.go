//go:build (darwin || dragonfly || freebsd || illumos || netbsd || openbsd) && flock_linkname

package cstart

const setMask = 3 // SIG_SETMASK in <sys/signal.h> of each of them
