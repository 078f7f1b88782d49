//go:build unix && !(darwin || freebsd || illumos || linux || solaris)

package main

import "errors"

// descriptorPath cannot be told here.
func descriptorPath(int) (string, error) {
	return "", errors.New("this system does not tell the name of an open file, so the directory lock cannot serve a descriptor number")
}
