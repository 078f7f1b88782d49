//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// A memory is a mechanism in memory. It writes down what is called, and answers each lock call by its next answer; when
// there are no more, the lock is free.
type memory struct {
	locks.Mechanism   // nil
	file              string
	calls             *[]string
	try, wait, unlock string // the names of the calls
	answers           []answer
}

// An answer is that of one lock call, before which others do something to the lock file.
type answer struct {
	err    error
	before func(file string)
}

func (m *memory) Lock(_ locks.Op, timeout locks.Timeout) error {
	name := m.try
	if timeout.Waits() {
		name = m.wait
	}
	*m.calls = append(*m.calls, name)
	if len(m.answers) == 0 {
		return nil
	}
	next := m.answers[0]
	m.answers = m.answers[1:]
	if next.before != nil {
		next.before(m.file)
	}
	return next.err
}

func (m *memory) Unlock() error {
	*m.calls = append(*m.calls, m.unlock)
	return nil
}

func (m *memory) Kind() locks.Kind { return locks.ByFlock }

// remakes is what others do who have removed the lock file, and made it again.
func remakes(file string) {
	os.Remove(file)
	os.WriteFile(file, nil, 0o666)
}

// coolsDown is what others do who begin a cooldown.
func coolsDown(file string) { os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)) }

func TestAcquire(t *testing.T) {
	busy := answer{err: locks.ErrConflict}
	denied := &locks.Refusal{Err: locks.ErrConflict, Denied: true}
	broken := errors.New("broken")
	cooldown := cli.Options{Cooldown: time.Hour}
	remove := cli.Options{Remove: true}
	queue := cli.Options{Queued: true}
	for name, c := range map[string]struct {
		options cli.Options
		timeout locks.Timeout
		left    time.Duration // of a cooldown
		lock    []answer
		place   []answer
		calls   string
		err     error
	}{
		"free":           {calls: "wait"},
		"busy":           {timeout: locks.Try, lock: []answer{busy}, calls: "try", err: locks.ErrConflict},
		"cooldown over":  {options: cooldown, calls: "wait"},
		"cooldown ends":  {options: cooldown, left: 50 * time.Millisecond, calls: "wait"},
		"cooldown lasts": {options: cooldown, left: time.Hour, timeout: locks.Try, err: locks.ErrConflict},
		"cooldown of another": {options: cooldown, timeout: locks.Try, lock: []answer{{before: coolsDown}},
			calls: "try unlock", err: locks.ErrConflict},
		"file remains":            {options: remove, calls: "wait"},
		"file was removed":        {options: remove, lock: []answer{{before: remakes}}, calls: "wait unlock wait"},
		"removal breaks the call": {options: remove, lock: []answer{{broken, remakes}}, calls: "wait wait"},
		"broken":                  {options: remove, lock: []answer{{err: broken}}, calls: "wait", err: broken},
		"busy, and was removed": {options: remove, timeout: locks.Try, lock: []answer{{locks.ErrConflict, remakes}},
			calls: "try", err: locks.ErrConflict},
		"queue, free":       {options: queue, calls: "try leave"},
		"queue has a place": {options: queue, lock: []answer{busy}, calls: "try place wait leave"},
		"queue is full": {options: queue, lock: []answer{busy}, place: []answer{busy},
			calls: "try place leave", err: locks.ErrConflict},
		"queue, but the kernel denies": {options: queue, lock: []answer{{err: denied}}, calls: "try leave", err: denied},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			f, err := lockfile.Open(path, lockfile.Read)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			os.Chtimes(path, time.Time{}, time.Now().Add(c.left))
			var calls []string
			a := &attempt{Options: &c.options, out: &output.Printer{}, file: f,
				lock: locks.Of(&memory{nil, path, &calls, "try", "wait", "unlock", c.lock})}
			if c.options.Queued {
				a.queue = locks.Of(&memory{nil, path, &calls, "place", "place", "leave", c.place})
			}
			err = a.acquire(c.timeout)
			if got := strings.Join(calls, " "); got != c.calls || !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %s: %v", got, err, c.calls, c.err)
			}
			if _, left, _ := a.cooldownLeft(); c.options.Cooldown > 0 && left < time.Minute {
				t.Errorf("a cooldown of %v is left", left)
			}
			if !f.IsNamed() && err == nil {
				t.Error("the lock is on a file that was removed")
			}
		})
	}
}

// TestUndo: who ends before the command could start leaves neither the lock nor a cooldown. An --unlock took nothing.
func TestUndo(t *testing.T) {
	for _, c := range []struct {
		op    locks.Op
		left  time.Duration // of the cooldown that began with the lock
		calls string
	}{{locks.Exclusive, 0, "unlock"}, {locks.Unlock, time.Hour, ""}} {
		path := filepath.Join(t.TempDir(), "lock")
		f, err := lockfile.Open(path, lockfile.Read)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		coolsDown(path)
		var calls []string
		a := &attempt{Options: &cli.Options{Op: c.op, Cooldown: time.Hour}, out: &output.Printer{}, file: f,
			lock: locks.Of(&memory{nil, path, &calls, "try", "wait", "unlock", nil})}
		a.undo()
		_, left, err := a.cooldownLeft()
		if left = left.Round(time.Hour); left != c.left || err != nil || strings.Join(calls, " ") != c.calls {
			t.Errorf("%v: %q, a cooldown of %v is left, %v", c.op, calls, left, err)
		}
	}
}

// TestRemoveOnce: each look at whether the file can be removed gives its descriptor back.
func TestRemoveOnce(t *testing.T) {
	dir := t.TempDir()
	f, err := lockfile.Open(filepath.Join(dir, "lock"), lockfile.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config := locks.Config{Flock: true}
	a := &attempt{Options: &cli.Options{Config: config}, out: &output.Printer{}, file: f, lock: locks.New(f, config)}
	if err := a.acquire(locks.Try); err != nil {
		t.Fatal(err)
	}
	a.lock.Unlock()
	next := func() (fd int) { // the lowest number that is free
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return int(f.Fd())
	}
	free := next()
	for _, isThere := range []bool{true, false} {
		if isThere {
			os.WriteFile(a.file.Name, nil, 0o666)
		}
		if mayBeBack, err := a.removeOnce(); mayBeBack || (err == nil) != isThere {
			t.Errorf("%v, %v", mayBeBack, err)
		}
		if fd := next(); fd != free {
			t.Errorf("descriptor %d is still open", free)
		}
	}
}
