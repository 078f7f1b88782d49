//go:build unix

package guard

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/locks"
	"example.org/flock/internal/sys"
)

// Deadlines say, on the clock of Now, what happens when the lock is not renewed in time, and is lost.
type Deadlines struct {
	Term time.Duration // the command and all its descendants get SIGTERM
	Kill time.Duration // and SIGKILL
	End  time.Duration // the kernel kills the program whose guard it is, if it is still there
}

// NoDeadlines are the deadlines of a lock that cannot be lost.
var NoDeadlines = Deadlines{never, never, never}

const never = time.Duration(1<<63 - 1)

// A Kind is that of a message: the first are orders to the guard, the others its reports.
type Kind int

const (
	Run    Kind = iota + 1 // start the command, which may run within Deadlines and by Rules, with Token
	Move                   // new Deadlines
	Signal                 // forward the signal Number to the command; if that has ended, see passOn
	Abort                  // the lock is lost: kill everything now

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

// appendTo appends the message to b as a line: numbers, and the quoted text.
func (m Message) appendTo(b []byte) []byte {
	for _, n := range [...]int64{int64(m.Kind), int64(m.Deadlines.Term), int64(m.Deadlines.Kill),
		int64(m.Deadlines.End), int64(m.Rules.Limit), bit(m.Rules.Leftovers), bit(m.Rules.KeepsLock), m.Token,
		int64(m.Number), int64(m.Group), bit(m.Killed), bit(m.Terminal), int64(m.Cause), int64(m.Survivor), int64(m.Errno),
		int64(m.Rules.Ticket.FD), m.Rules.Ticket.Number} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	return append(strconv.AppendQuote(b, m.Text), '\n')
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// decode returns the message of a line that appendTo has made, without the end of the line. ok says that it is one.
func decode(line []byte) (m Message, ok bool) {
	var n [17]int64
	for i := range n {
		if n[i], line, ok = cutNumber(line); !ok {
			return Message{}, false
		}
	}
	text := ""
	if string(line) != `""` { // most have no text, and need no memory
		var err error
		if text, err = strconv.Unquote(string(line)); err != nil {
			return Message{}, false
		}
	}
	return Message{Kind: Kind(n[0]),
		Deadlines: Deadlines{time.Duration(n[1]), time.Duration(n[2]), time.Duration(n[3])},
		Rules:     Rules{time.Duration(n[4]), n[5] != 0, n[6] != 0, locks.Ticket{FD: int(n[15]), Number: n[16]}},
		Token:     n[7], Number: int(n[8]), Group: int(n[9]),
		Killed: n[10] != 0, Terminal: n[11] != 0, Cause: Cause(n[12]), Survivor: int(n[13]),
		Errno: syscall.Errno(n[14]), Text: text}, true
}

// cutNumber cuts a number and the blank behind it from a line.
func cutNumber(line []byte) (n int64, rest []byte, ok bool) {
	word, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(word) > 20 { // the longest number has as many
		return 0, nil, false
	}
	n, err := strconv.ParseInt(string(word), 10, 64)
	return n, rest, err == nil
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

// Words are sent before all messages: their length in four bytes, and each with a byte of 0 at its end.

func sendWords(socket int, words []string) {
	var b []byte
	for _, word := range words {
		b = append(append(b, word...), 0)
	}
	n := len(b)
	send(socket, append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, b...))
}

// receiveWords returns no words if the sender is gone before it has sent them all.
func receiveWords(socket int) (words []string) {
	head, ok := receive(socket, 4)
	if !ok {
		return nil
	}
	b, ok := receive(socket, int(head[0])<<24|int(head[1])<<16|int(head[2])<<8|int(head[3]))
	if !ok || len(b) == 0 {
		return nil
	}
	return strings.Split(string(b[:len(b)-1]), "\x00")
}

func receive(socket, length int) (b []byte, ok bool) {
	b = make([]byte, length)
	for at := 0; at < length; {
		n, _ := sys.Read(socket, b[at:])
		if n <= 0 {
			return nil, false
		}
		at += n
	}
	return b, true
}
