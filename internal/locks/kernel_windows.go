package locks

import "example.org/flock/internal/lockfile"

// Flock uses no kernel locks here: those of Windows keep others from reading the file.
const HasKernelLocks, HasByteLocks, HasRanges = false, false, false

func kernelMechanisms(*lockfile.File, Config) []Mechanism { return nil }

func directoryMechanism(f *lockfile.File, config Config) Mechanism {
	return &directory{file: f, config: config}
}

// Denies reports whether the kernel denies locks on a file.
func Denies(*lockfile.File) bool { return false }

// HasPlaces reports whether a byte of the file can be a place in its queue.
const HasPlaces = false

func kernelPlaces(*lockfile.File, Config) ([]Mechanism, error) { return nil, nil }
