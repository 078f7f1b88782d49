package main

import (
	"context"
	"math"
	"regexp"
	"strings"

	"example.org/flock/fleet/lease"
)

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (lease.Line, *lease.LastRun, error) {
	which := "true"
	if name != "" {
		which = is(name)
	}
	v, err := s.look(ctx, message{beginList}, "", which)
	line := v.before(math.MaxInt64)
	if name == "" || len(v.last) == 0 {
		return line, nil, err
	}
	v.last[0].Key = name + "/last"
	return line, v.last[0], err
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
