package main

// supported refuses what this system has not got. Its POSIX record locks belong
// to a process, and are for a command only.
func supported(o *options) error {
	const instead = "the locks of this system belong to a process, not to an open file"
	switch {
	case o.backend == native || o.backend == byFlock:
		return &usageError{text: instead + ": the backend can only be auto, fcntl or directory"}
	case o.backend == byFcntl && !o.hasFile:
		return &usageError{text: "a descriptor number cannot be locked with fcntl: " + instead}
	case o.backend == byFcntl && !o.closeFd:
		// They do not pass to a child, but stay across exec.
		o.noFork = true
	}
	return nil
}
