//go:build unix

package main

import "syscall"

// writeAll writes straight to a descriptor: os.Stdout would handle SIGPIPE in
// its own way.
func writeAll(fd int, text string) error {
	for b := []byte(text); len(b) > 0; {
		n, err := syscall.Write(fd, b)
		if err != nil && err != syscall.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}
