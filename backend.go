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
