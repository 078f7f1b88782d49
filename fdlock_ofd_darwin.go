package main

// From <sys/fcntl.h>; x/sys/unix does not have them.
const (
	ofdSetlk  = 90
	ofdSetlkw = 91
)
