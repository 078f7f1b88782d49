package locks

import "example.org/flock/internal/lockfile"

// NewQueue returns the queue of those who wait for the lock on a file. To lock it is to take a place: there are as many
// as the configuration says. The place goes with its process: it is a byte of the file or, where there are no byte
// locks and with the directory lock, a permit of another directory lock.
//
// It holds a descriptor, so it must be unlocked even if no place was taken.
func NewQueue(f *lockfile.File, config Config) (*Chain, error) {
	places, err := kernelPlaces(f, config)
	if err != nil {
		return nil, err
	}
	if config.Directory {
		places = append(places, &directoryPlace{file: f, config: config})
	}
	return &Chain{mechanisms: places}, nil
}
