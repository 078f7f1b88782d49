//go:build unix

package guard

import (
	"io"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// Deadlines say, on the clock of Now, what happens when the lock is not renewed in time, and is lost.
type Deadlines struct {
	Term time.Duration // the command and all its descendants get SIGTERM
	Kill time.Duration // and SIGKILL
	End  time.Duration // the kernel kills the program whose guard it is, if it is still there
}

// noDeadlines are the deadlines of a lock that cannot be lost: the guard has it, too.
var noDeadlines = Deadlines{never, never, never}

// A Kind is that of a message: the first are orders to the guard, then come its reports.
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
	Failed     // the command could not be started: see Failure. It is the last report
	Ended      // the command has ended with the status Number and, unless the Cause is NoCause, all its descendants;
	// or it was too late to start it. It is the last report.
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

// A Message goes to the guard or comes from it. Both are the same program, so it goes as it is in memory, with the Text
// behind it. Only Linux has a name for the program that runs; elsewhere it may have been replaced while flock waited,
// which the size of a message tells.
type Message struct {
	Kind      Kind
	Deadlines Deadlines
	Rules     Rules
	Token     int64 // of the lock; 0: none
	Parent    int   // with Run: the process id of the guard's parent
	Group     int   // the process group of the command; 0: none of its own
	Number    int   // a status is 128 plus the number of the signal that killed the command
	Killed    bool  // there was one
	Terminal  bool  // a signal came from there, which sends it to a whole process group
	Forked    bool  // there was a process for the command, which could not execute it
	Cause     Cause
	Survivor  int           // a process that may not be killed, such as one of another user; 0: none
	Errno     syscall.Errno // why the command could not be started
	length    int           // of the Text
	Text      string        // with Run: the words of the command, with a byte of 0 between them
}

// Failure returns the error of a command that has Failed.
func (m Message) Failure(name string) *failure.Error {
	if m.Forked {
		return command.NotExecuted(name, m.Errno)
	}
	return command.NotForked(m.Errno)
}

const sizeOfMessage = int(unsafe.Sizeof(Message{}))

// isOtherVersion is the exit status of a guard that was started by a program with messages of another size.
const isOtherVersion = 3

// fixed is a message without its Text.
func (m *Message) fixed() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Offsetof(m.Text))
}

// send sends a message, or drops it if the receiver is gone. One without Text needs no memory.
func (m *Message) send(socket int) {
	m.length = len(m.Text)
	b := append(slices.Clip(m.fixed()), m.Text...)
	for len(b) > 0 {
		n, err := sys.Retry(func() (int, error) { return unix.SendmsgN(socket, b, nil, nil, unix.MSG_NOSIGNAL) })
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// receive waits for the next message; ok says that there is one.
func (m *Message) receive(socket *os.File) (ok bool) {
	_, err := io.ReadFull(socket, m.fixed())
	if err == nil {
		text := make([]byte, m.length)
		_, err = io.ReadFull(socket, text)
		m.Text = string(text)
	}
	return err == nil
}
