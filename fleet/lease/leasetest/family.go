//go:build linux

package leasetest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// StartFamily starts a holder whose command is a family: a process with descendants that only SIGKILL ends. Words are
// the program of the backend, options, and the name of a lock; the family notes in dir what it does. It returns when
// the family is complete. The channel tells when all of it was dead.
func (e Environment) StartFamily(t *testing.T, section, dir string, words ...string) (
	holder *Child, dead chan time.Time) {
	t.Helper()
	var family []*os.Process // not numbers, which others may have by the time of the cleanup
	t.Cleanup(func() {
		for _, p := range family {
			p.Kill()
		}
	})
	holder = e.Start(t, append(words, section, "family", dir)...)
	Await(t, "the family", func() bool {
		for _, pid := range strings.Fields(Read(dir + "/ready"))[len(family):] {
			n, _ := strconv.Atoi(pid)
			p, _ := os.FindProcess(n)
			family = append(family, p)
		}
		return len(family) == 3
	})
	lock, err := os.Open(dir + "/lock") // which all of the family have
	if err != nil {
		t.Fatal(err)
	}
	dead = make(chan time.Time, 1)
	go func() {
		defer lock.Close()
		for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX) == syscall.EINTR {
		}
		dead <- time.Now()
	}()
	return holder, dead
}

// StartNext starts a contender that may have to wait for a family to end, and finds out whether it did.
func (e Environment) StartNext(t *testing.T, section, dir string, words ...string) *Child {
	t.Helper()
	return e.Start(t, append(words, section, "alone", dir)...)
}

// CheckNext waits for the end of what StartNext has started, checks that it met nobody of the family, and returns when
// its command began.
func (c *Child) CheckNext(t *testing.T, dir string) time.Time {
	t.Helper()
	if c.AwaitEnd(t); c.Status != 0 {
		t.Errorf("the next one ended with %d: %s", c.Status, &c.Err)
	}
	if text := Read(dir + "/violations"); text != "" {
		t.Error(text)
	}
	n, _ := strconv.ParseInt(Read(dir+"/entered"), 10, 64)
	return time.Unix(0, n)
}
