//go:build !unix

package main

// supported refuses what this system has not got.
func supported(o *options) error {
	switch {
	case o.fcntl:
		return &usageError{text: "--fcntl, --start and --length are for native locks, which this system does not have"}
	case o.backend != auto && o.backend != directory:
		return &usageError{text: "this system has no native locks: the backend can only be auto or directory"}
	case !o.hasFile:
		return &usageError{text: "a descriptor number cannot be locked: this system does not tell " +
			"when its process is done with it; give a file and a command"}
	}
	return nil
}
