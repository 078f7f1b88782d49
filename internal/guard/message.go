//go:build unix

package guard

import (
	"bytes"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// Deadlines say, on the clock of Now, what happens when the lock is not renewed in time, and is lost.
type Deadlines struct {
	Term time.Duration // the command and all its descendants get SIGTERM
	Kill time.Duration // and SIGKILL
	End  time.Duration // the kernel kills the program whose guard it is, if it is still there
}

// noDeadlines are the deadlines of a lock that cannot be lost.
var noDeadlines = Deadlines{never, never, never}

// A Kind is that of a message: the first are what Start tells the guard, then come orders to it, then its reports.
type Kind int

const (
	Parent   Kind = iota + 1 // the parent of the guard has the process id Number
	Stderr                   // the command gets the descriptor Number as its standard error; -1: it has none
	ForGuard                 // the command does not get the descriptor Number
	Words                    // the command is Text, its words with a byte of 0 between them

	Run    // start the command, which may run within Deadlines and by Rules, with Token
	Move   // new Deadlines
	Signal // forward the signal Number to the command; if that has ended, see passOn
	Abort  // the lock is lost: kill everything now

	Started    // the command runs: Number is its process id
	Overrun    // the command has reached its limit; the guard terminates it with all its descendants
	Leftover   // the command left the process Number (Text) behind; the guard terminates it
	Killing    // the process Number (Text) did not exit in time after SIGTERM; the guard kills it
	Unkillable // the guard may not signal the process Number (Text), and waits for it to exit
	Killable   // now it may, and kills it
	Ended      // the command has ended with the status Number and, unless the Cause is NoCause, all its descendants;
	// or it could not be started: Text. It is the last report.
)

// A Cause says why the guard terminates the command and its descendants.
type Cause int

const (
	NoCause  Cause = iota // it does not: the command has ended by itself, and what it has left may stay
	LeftSome              // the command has ended by itself and left some, against its Rules
	AtLimit               // that of its Rules
	Replaced              // a run newer than the Ticket of its Rules has come
	Orphaned              // the program that gives the orders is gone
	Lost                  // Deadlines.Term has come, or an Abort; or it is gone, and the lock with it
)

// A Message goes to the guard or comes from it.
type Message struct {
	Kind      Kind
	Deadlines Deadlines
	Rules     Rules
	Token     int64 // of the lock; 0: none
	Group     int   // the process group of the command; 0: none of its own
	Number    int   // a status is 128 plus the number of the signal that killed the command
	Killed    bool  // there was one
	Terminal  bool  // a signal came from there, which sends it to a whole process group
	Text      string

	Cause    Cause
	Survivor int           // a process that may not be killed, such as one of another user; 0: none
	Errno    syscall.Errno // why the command cannot be executed; 0: that is not known
}

// visit calls change with each number of the message, always in the same order, and puts its answer there.
func (m *Message) visit(change func(int64) int64) {
	d, r := &m.Deadlines, &m.Rules
	for _, at := range [...]*time.Duration{&d.Term, &d.Kill, &d.End, &r.Limit} {
		*at = time.Duration(change(int64(*at)))
	}
	for _, n := range [...]*int{(*int)(&m.Kind), (*int)(&m.Cause), &m.Group, &m.Number, &m.Survivor, &r.Ticket.FD} {
		*n = int(change(int64(*n)))
	}
	for _, is := range [...]*bool{&r.Leftovers, &r.KeepsLock, &m.Killed, &m.Terminal} {
		n := int64(0)
		if *is {
			n = 1
		}
		*is = change(n) != 0
	}
	m.Token, r.Ticket.Number = change(m.Token), change(r.Ticket.Number)
	m.Errno = syscall.Errno(change(int64(m.Errno)))
}

// appendTo appends the message to b as a line: numbers, and the quoted text.
func (m Message) appendTo(b []byte) []byte {
	m.visit(func(n int64) int64 {
		b = append(strconv.AppendInt(b, n, 10), ' ')
		return n
	})
	return append(strconv.AppendQuote(b, m.Text), '\n')
}

// decode returns the message of a line that appendTo has made, without the end of the line. ok says that it is one.
func decode(line []byte) (m Message, ok bool) {
	ok = true
	m.visit(func(int64) int64 {
		word, rest, _ := bytes.Cut(line, []byte(" "))
		n, err := strconv.ParseInt(string(word), 10, 64)
		line, ok = rest, ok && err == nil
		return n
	})
	if string(line) == `""` { // most have no text, and need no memory
		return m, ok
	}
	text, err := strconv.Unquote(string(line))
	m.Text = text
	return m, ok && err == nil
}

// send sends bytes, or drops them if the receiver is gone.
func send(socket int, b []byte) {
	for len(b) > 0 {
		n, err := sys.Retry(func() (int, error) { return unix.SendmsgN(socket, b, nil, nil, unix.MSG_NOSIGNAL) })
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// A splitter splits what comes from a socket into messages.
type splitter struct {
	text []byte // that was added, since the start of a line
	at   int    // where the next line begins in it
}

// add adds what has come.
func (s *splitter) add(b []byte) {
	s.text, s.at = append(s.text[:copy(s.text, s.text[s.at:])], b...), 0
}

// next returns the next message that has come to its end. It drops a line that is no message.
func (s *splitter) next() (m Message, ok bool) {
	for !ok {
		length := bytes.IndexByte(s.text[s.at:], '\n')
		if length < 0 {
			return Message{}, false
		}
		m, ok = decode(s.text[s.at : s.at+length])
		s.at += length + 1
	}
	return m, true
}
