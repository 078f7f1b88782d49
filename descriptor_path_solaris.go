//go:build illumos || solaris

package main

import (
	"os"
	"strconv"
)

// descriptorPath returns the name under which a descriptor's file was opened.
func descriptorPath(fd int) (string, error) {
	return os.Readlink("/proc/self/path/" + strconv.Itoa(fd))
}
