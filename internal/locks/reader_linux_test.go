//go:build !locks_portable

package locks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/lockfile"
)

// A sharedFile is one that others may read.
type sharedFile struct {
	*testing.T
	name string
}

func newSharedFile(t *testing.T) sharedFile {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return sharedFile{t, name}
}

// open opens it anew, as another process does.
func (s sharedFile) open(access lockfile.Access) *lockfile.File {
	s.Helper()
	f, err := lockfile.Open(s.name, access)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { f.CloseForBytes(); f.Close() })
	return f
}

// read locks a range as a process can that may only read the file. It reports whether nobody else's lock is there.
func (s sharedFile) read(r Range) bool {
	s.Helper()
	err := setBytes(s.open(lockfile.Read).FD, Shared, r)
	if err != nil && err != ErrConflict {
		s.Fatal(err)
	}
	return err == nil
}

// comeAgain takes a ticket.
func (s sharedFile) comeAgain() (t Ticket, err error) {
	s.Helper()
	f := s.open(lockfile.Read)
	s.inAMoment(func() {
		var bell int
		if t, bell, err = TakeTicket(f); err == nil {
			unix.Close(bell)
		}
	})
	return t, err
}

// inAMoment does what may not keep the processor busy.
func (s sharedFile) inAMoment(do func()) {
	s.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		do()
	}()
	for began := processorTime(); ; {
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
			if processorTime()-began > 2*time.Second {
				s.Fatal("it has taken two seconds of the processor and goes on")
			}
		}
	}
}

func processorTime() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ask takes a place in the queue of two.
func (s sharedFile) ask() error {
	s.Helper()
	queue, err := NewQueue(s.open(lockfile.Read), Config{Flock: true, Queue: 2})
	if err != nil {
		s.Fatal(err)
	}
	return queue.Lock(Exclusive, Forever)
}

// takePermit takes one of two.
func (s sharedFile) takePermit() error {
	return New(s.open(lockfile.ReadWrite), Config{Flock: true, Permits: 2}).Lock(Exclusive, Until(time.Now()))
}

// What comes of a request.
const (
	getsIn  = "gets in"
	refused = "is refused: another process has it"
	fails   = "fails"
)

func outcome(err error) string {
	switch {
	case err == nil:
		return getsIn
	case IsRefusal(err):
		return refused
	}
	return fails
}

// TestReaders locks bytes as somebody can who may only read the file. That keeps others waiting, or out with an error.
// It replaces no run, and has no request refused as if somebody waited.
func TestReaders(t *testing.T) {
	for name, c := range map[string]struct {
		locked               Range
		run, request, permit string
	}{
		"the content":            {Range{0, 100}, getsIn, getsIn, getsIn},
		"a ticket":               {Tickets.At(2), getsIn, getsIn, getsIn},
		"two tickets":            {Range{Tickets.At(2).Start, 2}, getsIn, getsIn, getsIn},
		"a million tickets":      {Range{Tickets.At(2).Start, 1 << 20}, getsIn, getsIn, getsIn},
		"a later ticket":         {Tickets.At(1000), getsIn, getsIn, getsIn},
		"the highest ticket":     {Tickets.At(Tickets.Length - 1), getsIn, getsIn, getsIn},
		"all tickets but one":    {Range{Tickets.At(2).Start, Tickets.Length - 2}, fails, getsIn, getsIn},
		"all bytes after that":   {Range{Tickets.At(2).Start, 0}, fails, getsIn, refused},
		"a place":                {Places.At(0), getsIn, getsIn, getsIn},
		"all places":             {Places, getsIn, fails, getsIn},
		"a permit":               {Permits.At(0), getsIn, getsIn, getsIn},
		"all permits":            {Permits, getsIn, getsIn, refused},
		"the turn for a permit":  {Turn, getsIn, getsIn, refused},
		"the whole file":         {Range{}, fails, fails, refused},
		"all but the first byte": {Range{1, 0}, fails, fails, refused},
	} {
		t.Run(name+", before others come", func(t *testing.T) {
			s := newSharedFile(t)
			s.read(c.locked)
			if ticket, err := s.comeAgain(); err == nil && !ticket.IsNewest() {
				t.Error("the only run is replaced")
			}
			_, err := s.comeAgain()
			if got := outcome(err); got != c.run {
				t.Errorf("a run %s: %v", got, err)
			}
			err = s.ask()
			if got := outcome(err); got != c.request {
				t.Errorf("a request %s: %v", got, err)
			}
			err = s.takePermit()
			if got := outcome(err); got != c.permit {
				t.Errorf("a permit %s: %v", got, err)
			}
		})
		t.Run(name+", when a run is there", func(t *testing.T) {
			s := newSharedFile(t)
			before, err := s.comeAgain()
			if err != nil {
				t.Fatal(err)
			}
			if !s.read(c.locked) {
				return // its ticket is there
			}
			if !before.IsNewest() {
				t.Error("the run is replaced")
			}
			next, err := s.comeAgain()
			switch got := outcome(err); {
			case got != c.run:
				t.Errorf("the next run %s: %v", got, err)
			case err == nil && (before.IsNewest() || !next.IsNewest()):
				t.Errorf("ticket %d does not replace %d", next.Number, before.Number)
			}
		})
	}
}

// TestReadersInQueue has readers lock some of the two places: a request is refused if somebody waits, and fails if all
// places are theirs.
func TestReadersInQueue(t *testing.T) {
	for _, c := range []struct{ readers, want string }{
		{"", "gets in, gets in, " + refused},
		{"0", "gets in, " + refused},
		{"1", "gets in, " + refused},
		{"01", fails},
	} {
		s := newSharedFile(t)
		for _, place := range c.readers {
			s.read(Places.At(int64(place - '0')))
		}
		for _, want := range strings.Split(c.want, ", ") {
			if err := s.ask(); outcome(err) != want {
				t.Errorf("places of readers %q: not %q: %v", c.readers, want, err)
			}
		}
	}
}

// TestTicketsOfWriters: whoever may write to the file can keep all others out, with an error, and in no time.
func TestTicketsOfWriters(t *testing.T) {
	for _, r := range []Range{Tickets.At(Tickets.Length - 1), {Tickets.At(1).Start, 2}, {Tickets.At(5).Start, 0}, {}} {
		s := newSharedFile(t)
		if err := setBytes(s.open(lockfile.ReadWrite).FD, Exclusive, r); err != nil {
			t.Fatal(err)
		}
		ticket, err := s.comeAgain()
		if !errors.Is(err, errForeign) {
			t.Errorf("%+v: ticket %d, %v", r, ticket.Number, err)
		}
		highest := Ticket{FD: s.open(lockfile.Read).FD, Number: Tickets.Length - 1}
		s.inAMoment(highest.ringOthers)
	}
	last := Ticket{FD: newSharedFile(t).open(lockfile.Read).FD, Number: Tickets.Length - 1}
	if !last.IsNewest() {
		t.Error("somebody has come after the last ticket")
	}
}
