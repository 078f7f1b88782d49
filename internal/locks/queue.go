package locks

import (
	"context"
	"errors"

	"example.org/flock/fallback"
	"example.org/flock/internal/lockfile"
)

// NewQueue returns the queue of the waiters for the lock on a file. To lock it is to take a place; the configuration
// says how many there are. A place goes when its process dies: it is a byte of the file or, where there are no byte
// locks and with the directory lock, a permit of another directory lock.
//
// Places that are bytes hold a descriptor, so the queue must be unlocked even if no place was taken.
func NewQueue(f *lockfile.File, config Config) (*Chain, error) {
	places, err := kernelPlaces(f, config)
	if err != nil {
		return nil, err
	}
	if len(places) == 0 { // What keeps the directory lock from having places is said before the lock is taken.
		if _, _, err := StateDir(f, config.StateBase); err != nil {
			return nil, DirectoryError(f, config.StateBase, err)
		}
	}
	if config.Directory {
		places = append(places, &directoryPlace{file: f, config: config})
	}
	return Of(places...), nil
}

// A directoryPlace in a queue is a permit of a directory lock beside that of the file.
type directoryPlace struct {
	file   *lockfile.File
	config Config
	held   *fallback.Lock // nil: none
}

// Lock takes a place, and does not wait for one.
func (p *directoryPlace) Lock(_ Op, timeout Timeout) error {
	dir, path, err := StateDir(p.file, p.config.StateBase)
	if err != nil {
		return p.explain(err)
	}
	queue := fallback.OpenQueue(dir, path)
	request := fallback.Request{Mode: fallback.Permit, Permits: p.config.Queue, Try: true}
	for {
		err := queue.Acquire(context.Background(), request)
		var locked *fallback.LockedError
		switch {
		case err == nil:
			p.held = queue
			return nil
		case !errors.As(err, &locked):
			return p.explain(err)
		case locked.Holders[0].Mode != fallback.Busy:
			return &Refusal{Err: ErrConflict, Why: "the queue: " + locked.Error()}
		}
		// A process was stopped while it looked for a place, so nobody knows whether it gets one. Acquire has waited
		// a second for it.
		if timeout.IsOver() {
			return timeout.Conflict()
		}
	}
}

// Unlock gives up the place.
func (p *directoryPlace) Unlock() error {
	if p.held == nil {
		return nil
	}
	return p.explain(p.held.Unlock())
}

func (p *directoryPlace) Kind() Kind { return ByDirectory }

func (p *directoryPlace) explain(err error) error {
	return DirectoryError(p.file, p.config.StateBase, err)
}
