//go:build !unix

package main

import "os"

func writeAll(fd int, text string) error {
	_, err := map[int]*os.File{1: os.Stdout, 2: os.Stderr}[fd].WriteString(text)
	return err
}
