//go:build dragonfly || netbsd || openbsd || windows

package proc

import "errors"

// Path cannot be told here.
func Path(int) (string, error) {
	return "", errors.New("this system does not tell the name of an open file, so the directory lock cannot serve a descriptor number")
}
