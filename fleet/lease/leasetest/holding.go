//go:build linux

package leasetest

import (
	"io"
	"strconv"
	"strings"
	"testing"
)

// A Holding is a contender whose command, when it has the lock, writes its token and a dot, and runs until its input
// ends.
type Holding struct {
	*Child
	Input io.WriteCloser
}

// Hold starts a holding, and waits until it has the lock. Words are the program of the backend, options, and the name
// of a lock.
func (e Environment) Hold(t *testing.T, words ...string) *Holding {
	t.Helper()
	h := e.Queue(t, words...)
	h.AwaitOutput(t)
	return h
}

// Queue starts a holding that may have to wait.
func (e Environment) Queue(t *testing.T, words ...string) *Holding {
	t.Helper()
	c := e.Prepare(append(words, "sh", "-c", `echo "$FLOCK_TOKEN."; read line; exit 3`)...)
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Launch(t)
	return &Holding{c, input}
}

// Release ends the command of a holder, and checks that its status is that of the program.
func (h *Holding) Release(t *testing.T) {
	t.Helper()
	h.Input.Close()
	if h.AwaitEnd(t); h.Status != 3 {
		t.Errorf("%q ended with %d: %s", h.Args, h.Status, &h.Err)
	}
}

// ReleaseSilent is Release for a holder that has had no reason to say anything.
func (h *Holding) ReleaseSilent(t *testing.T) {
	t.Helper()
	if h.Release(t); h.Err.String() != "" {
		t.Errorf("%q says %s", h.Args, &h.Err)
	}
}

// Token returns that of a holder.
func (h *Holding) Token(t *testing.T) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(h.Out.String()), "."), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
