//go:build unix

package guard

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits are times on the clock of Now.
type Limits struct {
	Term time.Duration // the command and all its descendants get SIGTERM
	Kill time.Duration // and SIGKILL
	End  time.Duration // the kernel kills the program whose guard it is, if it is still there
}

// Unlimited are the limits of a lock that cannot be lost.
var Unlimited = Limits{never, never, never}

const never = time.Duration(1<<63 - 1)

// A Kind is that of a message: the first are orders to the guard, the others its reports.
type Kind int

const (
	Run    Kind = iota + 1 // start the command, which may run within Limits and by Rules, with Token
	Move                   // new Limits
	Signal                 // pass the signal Number on to the command; if that has ended, kill everything now
	Abort                  // the lock is lost: kill everything now

	Started    // the command runs: Number is its process id or, negative, that of its process group
	Overrun    // the command has reached its limit, and is ended with all its descendants
	Leftover   // the process Number (Text) was left behind by the command, and is ended
	Killing    // the process Number (Text) does not end by SIGTERM in time, and is killed
	Unkillable // the process Number (Text) may not be ended; the guard waits for it
	Ended      // the command has ended with the status Number and, unless the Cause is ByItself, all its descendants;
	// or it could not be started: Text. It is the last report.
)

// A Cause is why a command has ended.
type Cause int

const (
	ByItself Cause = iota
	AtLimit        // that of its Rules
	Lost           // Limits.Term has come, or an Abort
)

// A Message goes to the guard or comes from it.
type Message struct {
	Kind     Kind
	Limits   Limits
	Rules    Rules
	Token    int64 // of the lock; 0: none
	Number   int   // a status is 128 plus the number of the signal that killed the command
	Killed   bool  // there was one
	Terminal bool  // a signal came from there, which sends it to a whole process group
	Text     string

	Cause    Cause
	Survivor int           // a process that may not be killed, such as one of another user; 0: none
	Errno    syscall.Errno // why the command cannot be executed; 0: that is not known
}

// encode returns the message as a line: numbers, and the quoted text.
func (m Message) encode() []byte {
	var line []byte
	for _, n := range []int64{int64(m.Kind), int64(m.Limits.Term), int64(m.Limits.Kill), int64(m.Limits.End),
		int64(m.Rules.Limit), number(m.Rules.Leftovers), number(m.Rules.Supervised), m.Token, int64(m.Number),
		number(m.Killed), number(m.Terminal), int64(m.Cause), int64(m.Survivor), int64(m.Errno)} {
		line = append(strconv.AppendInt(line, n, 10), ' ')
	}
	return append(strconv.AppendQuote(line, m.Text), '\n')
}

func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// decode returns the message of a line that encode has made.
func decode(line string) (m Message) {
	next := func() (n int64) {
		var word string
		word, line, _ = strings.Cut(line, " ")
		n, _ = strconv.ParseInt(word, 10, 64)
		return n
	}
	is := func() bool { return next() != 0 }
	duration := func() time.Duration { return time.Duration(next()) }
	m.Kind = Kind(next())
	m.Limits = Limits{duration(), duration(), duration()}
	m.Rules = Rules{duration(), is(), is()}
	m.Token, m.Number, m.Killed, m.Terminal = next(), int(next()), is(), is()
	m.Cause, m.Survivor, m.Errno = Cause(next()), int(next()), syscall.Errno(next())
	m.Text, _ = strconv.Unquote(strings.TrimSuffix(line, "\n"))
	return m
}

// send sends bytes, or drops them if the receiver is gone.
func send(socket int, b []byte) {
	for len(b) > 0 {
		n, err := unix.SendmsgN(socket, b, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == nil:
			b = b[n:]
		case err != unix.EINTR:
			return
		}
	}
}

// A splitter splits what comes from a socket into messages.
type splitter struct{ rest []byte } // of a line that has not come to its end

// add returns the messages that have come to their ends with these bytes.
func (s *splitter) add(b []byte) (messages []Message) {
	s.rest = append(s.rest, b...)
	for {
		line, rest, isWhole := bytes.Cut(s.rest, []byte("\n"))
		if !isWhole {
			return messages
		}
		messages, s.rest = append(messages, decode(string(line))), rest
	}
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
		n, err := unix.Read(socket, b[at:])
		if n <= 0 && err != unix.EINTR {
			return nil, false
		}
		at += max(n, 0)
	}
	return b, true
}
