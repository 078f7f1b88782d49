//go:build aix || illumos || plan9 || solaris

package events

import (
	"errors"
	"time"

	"example.org/flock/internal/sys"
)

const maxProcesses = 0

type process struct{ pid int }

type watches struct{ dir Directory }

func (*watches) directory(Directory) error { return errors.ErrUnsupported }

func (*watches) noDirectory() {}

func (*watches) add(int) (process, error) { return process{}, errors.ErrUnsupported }

func (*watches) remove(process) {}

func (*watches) close() {}

func (*watches) waitOnce(d time.Duration, _ []process) (Event, []int) {
	sys.Sleep(d)
	return Timeout, nil
}
