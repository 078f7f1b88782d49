package main

import (
	"context"
	"math"
	"os"
	"os/user"
	"regexp"
	"strconv"
	"strings"

	"example.org/flock/fleet/lease"
)

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (lease.Line, *lease.LastRun, error) {
	type answer struct {
		view
		last *lease.LastRun
	}
	which := "true"
	if name != "" {
		which = is(name)
	}
	a, err := ask(ctx, s, func(ctx context.Context, w *session) (a answer, err error) {
		m := append(message{beginList}, s.beginLook()...)
		line, last := m.add(readLiving(which)), m.add(readLast(name))
		m.add(commit)
		results, err := w.send(ctx, m)
		if err != nil {
			return a, err
		}
		a.last = lastRun(name, results[last].Rows)
		a.view, err = readView("", results[line].Rows)
		return a, err
	})
	return a.before(math.MaxInt64), a.last, err
}

var keyPattern = regexp.MustCompile(`^(?s)(.*)/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// Break implements lease.Backend.
func (s *store) Break(ctx context.Context, key string) error {
	words := keyPattern.FindStringSubmatch(key)
	if words == nil {
		return lease.Refused("not the key of a holder: " + key)
	}
	_, err := s.remove(ctx, words[1], words[2], nil, nil)
	return err
}

// remove writes the end of the run, removes its row, has the cooldown begin, and wakes those who may be next. It
// reports whether there was the row.
func (s *store) remove(ctx context.Context, name, key string, end, coolDown message) (bool, error) {
	return ask(ctx, s, func(ctx context.Context, w *session) (bool, error) {
		m := append(s.beginChange(name), end...)
		deleted := m.add("DELETE FROM flock.contender WHERE key = '" + key + "'")
		results, err := w.commit(ctx, append(m, coolDown...), message{wake(name)})
		return err == nil && results[deleted].CommandTag.RowsAffected() > 0, err
	})
}

func hostname() string {
	name, _ := os.Hostname()
	return name
}

func username() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// plain returns a text for the tables, whose encoding is not known, with a question mark for what is no plain
// character.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '\'' || r == '\\' {
			return '?'
		}
		return r
	}, text)
}
