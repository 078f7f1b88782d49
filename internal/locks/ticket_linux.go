package locks

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/sys"
)

// A Ticket is a byte of the file that a run with --replace keeps locked until it is over. The run with the highest one
// is the newest. An open file of the run's own locks the byte, so that it goes when the process dies.
type Ticket struct {
	FD     int   // a descriptor of the file, by which the kernel is asked
	Number int64 // from 1 on; 0: there is none
}

var errReplaceOnNetwork = errors.New("--replace does not work on NFS and SMB")

// TakeTicket takes the ticket behind the last one, and rings all earlier runs. bell is that of MakeBell, made before
// the ticket is taken: a run that finds the ticket can ring it.
func TakeTicket(f *lockfile.File) (t Ticket, bell int, err error) {
	if f.Network() != lockfile.Local {
		return t, -1, failure.New(failure.ExDataErr, f.Name, errReplaceOnNetwork)
	}
	own, err := f.OpenForBytes()
	if err != nil {
		return t, -1, withOpeningStatus(replaceError(f.Name, err))
	}
	t = Ticket{FD: f.FD, Number: 1}
	if bell, err = t.take(own.FD); err != nil {
		return t, -1, replaceError(f.Name, err)
	}
	t.ringOthers()
	return t, bell, nil
}

// take locks the byte behind the last ticket by own, another descriptor of the file, and returns the bell.
func (t *Ticket) take(own int) (bell int, err error) {
	for {
		if err := t.goBehindAll(); err != nil {
			return -1, err
		}
		bell := t.MakeBell()
		err := tryByte(own, Tickets.At(t.Number))
		if err == nil {
			return bell, nil
		}
		unix.Close(bell)
		if err != ErrConflict {
			return -1, err
		}
		// Another newcomer was faster: then goBehindAll finds it. Or it is a read lock, which whoever may only read the
		// file can have. That is no ticket, but keeps others from taking one there.
		l, isTaken, err := lockInTheWay(t.FD, Exclusive, Tickets.At(t.Number))
		if err != nil {
			return -1, err
		}
		if isTaken && l.Type == unix.F_RDLCK {
			t.Number = endOf(l) - Tickets.Start
		}
	}
}

// goBehindAll raises the number of the ticket until nobody else has that ticket or a higher one.
func (t *Ticket) goBehindAll() error {
	for {
		// One answer is some ticket, not the last one.
		l, isTaken, err := t.findLocked(t.Number, Tickets.Length-1)
		switch {
		case err != nil:
			return err
		case t.Number >= Tickets.Length: // the last ticket there can be is taken
			return errForeign
		case !isTaken:
			return nil
		case l.Len != 1, !Tickets.Has(l.Start):
			return errForeign
		}
		t.Number = endOf(l) - Tickets.Start
	}
}

// findLocked returns a lock on the bytes of the tickets from first to last, if somebody else has one: a write lock, as
// tickets are.
func (t Ticket) findLocked(first, last int64) (l unix.Flock_t, isTaken bool, err error) {
	if first > last { // the kernel takes other lengths than positive ones, too
		return l, false, nil
	}
	return lockInTheWay(t.FD, Shared, Range{Tickets.Start + first, last - first + 1})
}

// IsNewest reports whether no later run has come.
func (t Ticket) IsNewest() bool {
	_, isTaken, _ := t.findLocked(t.Number+1, Tickets.Length-1)
	return !isTaken
}

// MakeBell makes a socket, which is readable when a run has rung it; -1: it cannot. A ring only means that it is time
// to ask IsNewest, so a stranger's does no harm. And the owner asks after Unrung, too: nobody can ring it where a
// stranger has taken its address, or from another network namespace.
func (t Ticket) MakeBell() (fd int) {
	fd, err := newSocket()
	if err != nil {
		return -1
	}
	unix.Bind(fd, t.address(t.Number))
	return fd
}

// Watch looks in a thread of its own whether a newer run comes, until stop is called. isReplaced gets one value: true
// when one comes, or false after stop. With false all is closed, the bell too; with true nothing is, for stop may still
// be called: the process is to end.
func (t Ticket) Watch(bell int) (isReplaced <-chan bool, stop func(), err error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, nil, failure.New(failure.ExOSErr, "cannot wait for a newer run", err)
	}
	answer := make(chan bool)
	go func() {
		fds := []unix.PollFd{{Fd: int32(bell), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
		isStopped := false
		for !isStopped && t.IsNewest() {
			unix.Poll(fds, int(Unrung/time.Millisecond))
			Hear(bell)
			isStopped = fds[1].Revents != 0
		}
		if isStopped {
			unix.Close(wake)
			unix.Close(bell)
		}
		answer <- !isStopped
	}()
	return answer, func() { unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }, nil
}

// Unrung is how long to wait for a ring before the next look.
const Unrung = time.Second

// Hear takes one ring off a bell. There may be more.
func Hear(bell int) {
	var nothing [1]byte
	unix.Read(bell, nothing[:])
}

func newSocket() (fd int, err error) {
	return sys.AboveStandard(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))
}

// address returns the abstract address of the bell of who has the ticket with this number.
func (t Ticket) address(number int64) unix.Sockaddr {
	var stat unix.Stat_t
	unix.Fstat(t.FD, &stat)
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@flock-%x-%x-%d", stat.Dev, stat.Ino, number)}
}

// ringOthers rings all who have a lower ticket.
func (t Ticket) ringOthers() {
	if fd, err := newSocket(); err == nil {
		t.ring(fd, 1, t.Number-1)
		unix.Close(fd)
	}
}

// ring rings all who have a ticket from first to last.
func (t Ticket) ring(socket int, first, last int64) {
	for first <= last {
		l, isTaken, _ := t.findLocked(first, last)
		if !isTaken {
			return
		}
		number := l.Start - Tickets.Start
		unix.Sendto(socket, nil, 0, t.address(number))
		t.ring(socket, first, number-1)
		first = endOf(l) - Tickets.Start
	}
}

// replaceError returns the error of a file that has no tickets.
func replaceError(file string, err error) *failure.Error {
	return optionError("--replace", file, "", err)
}
