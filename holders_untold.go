//go:build unix && !aix && !linux

package main

import "errors"

// kernelHolders cannot be told here.
func kernelHolders(f *lockFile, o *options) ([]holding, error) {
	if o.backend == directory {
		return nil, nil
	}
	return nil, &stepError{seeing, f.name, errors.New("this system does not tell who holds a kernel lock")}
}

func (*lockFile) hasNoPermit() bool { return false }
