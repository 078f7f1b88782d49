package main

// backend is a way of locking, or of choosing one.
type backend uint8

const (
	auto      backend = iota // byFlock, else byFcntl, else directory
	native                   // byFlock, else byFcntl
	byFlock                  // flock(2)
	byFcntl                  // open file description locks, fcntl(2)
	directory                // package fallback
)

var backendNames = map[string]backend{
	"auto": auto, "native": native, "flock": byFlock, "fcntl": byFcntl, "directory": directory,
}

// chooseBackend settles the backend from --backend, else FLOCK_BACKEND.
func (o *options) chooseBackend() error {
	name, source := o.backendName, "--backend"
	if name == "" {
		name, _ = getenv("FLOCK_BACKEND")
		source = "FLOCK_BACKEND"
	}
	if name == "" {
		name = "auto"
	}
	var known bool
	if o.backend, known = backendNames[name]; !known {
		return &usageError{text: "invalid backend in " + source + ": '" + name +
			"' (auto, native, flock, fcntl or directory)"}
	}
	if o.fcntl && (o.backend == byFlock || o.backend == directory) {
		return &usageError{text: "--fcntl, --start and --length do not go with the backend " + name}
	}
	if o.fcntl {
		o.backend = byFcntl
	}
	return nil
}

// lock does what o says to the lock on f. The error is errConflict or
// errTimeout if somebody else has the lock, and errSupervise if the directory
// lock is to be taken by a flock that becomes the command.
func lock(p *printer, f *lockFile, o *options) error {
	if o.backend != directory {
		if err := lockNative(p, f, o); err != errNoLocks {
			return err
		}
	}
	if needsSupervisor(o) {
		return errSupervise
	}
	return lockDirectory(p, f, o)
}
