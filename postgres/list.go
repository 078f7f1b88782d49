package main

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/flock/lease"
)

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (line lease.Line, err error) {
	which := "true"
	if name != "" {
		which = is(name)
	}
	results, err := s.query(ctx, func() string { return s.read(which, ofTheLiving) })
	if err != nil {
		return nil, err
	}
	rows := results[0].Rows
	v, err := readView("", rows)
	if err != nil {
		return nil, err
	}
	isHeld, cools := false, map[string]bool{}
	for _, r := range rows {
		r := row(r)
		isHeld = isHeld || r.isTrue(ofIsTaken)
		if name := nameOf(r); r.duration(ofCools) > 0 && !cools[name] {
			cools[name] = true
			v.places = append(v.places, place{-1, lease.Contender{Lock: name, Mode: lease.Cooldown,
				Key: name + "/cooldown", Until: time.Now().Add(r.duration(ofCools))}})
		}
	}
	if v.quiet > 0 && !isHeld {
		return nil, lease.Unavailable(unknownHolders(v.quiet))
	}
	slices.SortStableFunc(v.places, func(a, b place) int { return cmp.Compare(a.order, b.order) })
	for _, p := range v.places {
		if p.Key != "" { // it is not one of those without a row
			line = append(line, p.Contender)
		}
	}
	return line, nil
}

var keyPattern = regexp.MustCompile(`^(?s)(.*)/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// Break implements lease.Backend.
func (s *store) Break(ctx context.Context, key string) error {
	words := keyPattern.FindStringSubmatch(key)
	if words == nil {
		return lease.Refused("not the key of a holder: " + key)
	}
	_, err := s.remove(ctx, words[1], words[2], "")
	return err
}

// remove removes a row, has the cooldown begin, and wakes those who may be next. It reports whether there was the row.
func (s *store) remove(ctx context.Context, name, key, coolDown string) (bool, error) {
	return ask(ctx, s, func(ctx context.Context, w *session) (bool, error) {
		deletion := "DELETE FROM flock.contender WHERE key = '" + key + "';\n"
		results, err := w.commit(ctx, s.begin(name)+deletion+coolDown, wake(name))
		return err == nil && results[ofFirst].CommandTag.RowsAffected() > 0, err
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
