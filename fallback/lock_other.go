//go:build !linux

package fallback

import (
	"errors"

	"example.org/flock/fallback/openfile"
)

// OpenFile is an error: only Linux shows the flags of the open files of other processes.
func OpenFile(dir, path string, fd int) (*Lock, error) {
	return nil, errors.New("on this system a directory lock is for a file and a command, not for a descriptor")
}

// CheckFile is the error of OpenFile.
func CheckFile(fd int) error {
	_, err := OpenFile("", "", fd)
	return err
}

// Inherited returns nil: on this system no descriptor is taken for a lifeline.
func Inherited(fd int) (*Lock, error) { return nil, nil }

func (*thisSystem) Openers([]record) (map[string][]int, openfile.Telling) {
	return nil, openfile.TellsNothing
}
