package locks

import "example.org/flock/internal/lockfile"

// Flock uses no kernel locks here: those of Windows keep others from reading the file.
const HasKernelLocks, HasByteLocks, HasRanges = false, false, false

func kernelMechanisms(*lockfile.File, Config) []Mechanism { return nil }

func directoryMechanism(h *hold, _ bool) Mechanism { return &directory{hold: h} }

// HasPlaces reports whether a byte of the file can be a place in its queue.
const HasPlaces = false

func kernelPlaces(*lockfile.File, Config) ([]Mechanism, error) { return nil, nil }
