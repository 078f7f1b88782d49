//go:build aix || !unix

package main

import "errors"

// kernelHolders has nothing to tell: here the lock is a directory's, unless
// the user says otherwise.
func kernelHolders(f *lockFile, o *options) ([]holding, error) {
	if o.backend == byFcntl {
		return nil, &stepError{seeing, f.name, errors.New("the locks of a process cannot be seen from another")}
	}
	return nil, nil
}

func (*lockFile) hasNoPermit() bool { return false }
