//go:build dragonfly || freebsd || illumos || netbsd || openbsd || solaris

package proc

func ThisMachine() Machine { return Machine{} }
