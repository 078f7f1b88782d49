//go:build unix

package command

import (
	"os"
	"strconv"
	"strings"
)

// BaseName returns the name of a program without its directory.
func BaseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Where the lock must name the process of the command before that runs, a second flock waits to be told to become the
// command.

// toldOption stands first in the words with which flock starts itself for that. Its value is the descriptor from which the
// second flock reads one byte.
const toldOption = "--when-told="

// A Child is the process of a command that does not run yet.
type Child struct {
	PID  int
	tell *os.File
}

// Prepare makes the process of a command.
func Prepare(argv []string) (*Child, error) {
	pid, tell, err := startWithPipe(func(fd int) []string {
		return append([]string{os.Args[0], toldOption + strconv.Itoa(fd)}, argv...)
	})
	if err != nil {
		return nil, err
	}
	return &Child{pid, tell}, nil
}

// Run lets the command run and returns its exit status.
func (c *Child) Run() (int, error) {
	c.tell.Write([]byte{'\n'})
	c.tell.Close()
	return Wait(c.PID)
}

// Abandon ends the process.
func (c *Child) Abandon() {
	c.tell.Close()
	Wait(c.PID)
}

// BecomeWhenTold becomes the command if args are those of a second flock. Then it returns only if nobody wants the command
// any more, without an error, or if the command cannot be executed.
func BecomeWhenTold(args []string) (told bool, err error) {
	if len(args) < 3 {
		return false, nil
	}
	value, ok := strings.CutPrefix(args[1], toldOption)
	fd, err := strconv.Atoi(value)
	if !ok || err != nil {
		return false, nil
	}
	pipe := os.NewFile(uintptr(fd), "pipe")
	n, _ := pipe.Read(make([]byte, 1))
	pipe.Close()
	if n == 0 {
		return true, nil
	}
	return true, Exec(args[2:])
}
