//go:build !linux

package locks

import (
	"errors"
	"time"

	"example.org/flock/internal/lockfile"
)

// A Ticket is for Linux.
type Ticket struct {
	FD     int
	Number int64
}

func TakeTicket(*lockfile.File) (Ticket, int, error)  { return Ticket{}, -1, errors.ErrUnsupported }
func (Ticket) Watch(int) (<-chan bool, func(), error) { return nil, nil, errors.ErrUnsupported }
func (Ticket) IsNewest() bool                         { return true }
func (Ticket) MakeBell() int                          { return -1 }
func Hear(int)                                        {}

// Unrung is for Linux, too.
const Unrung = time.Second
