package cli

import (
	"math"
	"time"

	"github.com/pborman/getopt/v2"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// An option is one that the command line may have.
type option struct {
	long  string
	short rune
	kind  kind
	set   func(value string) error
}

type kind uint8

const (
	flag    kind = 1 << iota // it has no value
	ofFiles                  // the programs of backends, which open no file, refuse it
	ours                     // util-linux does not have it
)

// table returns the options of flock, which the programs of backends have, too. Those of util-linux come first: if an
// abbreviation means one of them, it wins.
func (p *parser) table() []*option {
	o := &p.o
	return []*option{
		{"shared", 's', flag, choose(&o.Op, locks.Shared)},
		{"exclusive", 'x', flag, choose(&o.Op, locks.Exclusive)},
		{"", 'e', flag, choose(&o.Op, locks.Exclusive)},
		{"nonblocking", 'n', flag, choose(&o.Nonblock, true)},
		{"nb", 0, flag, choose(&o.Nonblock, true)},
		{"timeout", 'w', 0, timeout(&o.Timeout)},
		{"wait", 0, 0, timeout(&o.Timeout)},
		{"conflict-exit-code", 'E', 0, number(&o.ConflictExit, 0, 255, "invalid exit code (allowed values: 0-255)")},
		{"close", 'o', flag, choose(&o.Close, true)},
		{"verbose", 0, flag, choose(&o.Verbose, true)},
		{"help", 'h', flag, choose(&o.Action, Help)},
		{"version", 'V', flag, choose(&o.Action, Version)},
		{"unlock", 'u', flag | ofFiles, choose(&o.Op, locks.Unlock)},
		{"no-fork", 'F', flag | ofFiles, choose(&o.NoFork, true)},
		{"fcntl", 0, flag | ofFiles, choose(new(bool), true)},
		{"start", 0, ofFiles, size(&o.Range.Start, "invalid as start offset")},
		{"length", 0, ofFiles, size(&o.Range.Length, "invalid as length of lock range")},
		{"fd", 0, ofFiles, func(s string) (err error) { o.FD, err = parseDescriptor(s); return err }},

		{"permits", 0, ours, number(&o.Permits, 1, math.MaxInt32, "invalid number of permits (must be 1 or more)")},
		{"cooldown", 0, ours, seconds(&o.Cooldown, "invalid cooldown")},
		{"cooldown-from", 0, ours, cooldownFrom(&o.CooldownFrom)},
		{"queue", 0, ours, number(&o.Queue, 0, math.MaxInt32, "invalid number of waiting processes (0 or more)")},
		{"report", 0, ours, seconds(&o.ReportAfter, "invalid time of a report")},
		{"limit", 0, ours, runLimit(&o.Limit)},
		{"kill-children", 0, ours | flag, choose(&o.KillChildren, true)},
		{"remove", 0, ours | flag, choose(&o.Remove, true)},
		{"holders", 0, ours | flag, choose(&o.Action, Holders)},
		{"replace", 0, ours | flag | ofFiles, choose(&o.Replace, true)},
		{"backend", 0, ours, p.setBackend},
	}
}

// newParser returns a parser for flock, or for the program of a backend, which has --break and options of its own.
func newParser(program string, own []string, args []string, shell func(text string) []string) *parser {
	p := &parser{o: Options{FD: -1, ConflictExit: 1}, set: getopt.New(), program: program, args: args, shell: shell}
	p.options = p.table()
	if program != "" {
		p.options = append(p.options, &option{"break", 0, ours | flag, choose(&p.o.Action, Break)})
	}
	for _, name := range own {
		p.options = append(p.options, &option{name, 0, ours | flag, func(string) error {
			p.o.Action, p.o.Own = Own, name
			return nil
		}})
	}
	return p
}

// A setter is the getopt.Value of an option: it sets what the option stands for.
type setter func(value string) error

func (set setter) Set(value string, _ getopt.Option) error { return set(value) }
func (set setter) String() string                          { return "" }

// choose is for an option without a value; of several that exclude each other the last one counts.
func choose[T any](to *T, choice T) setter {
	return func(string) error { *to = choice; return nil }
}

// seconds is for a duration; invalid is the message for an invalid value.
func seconds(to *time.Duration, invalid string) setter {
	return func(s string) (err error) { *to, err = parseSeconds(s, invalid); return err }
}

// timeout is for the duration of a wait. A negative one is how other programs say that they wait for ever.
func timeout(to *time.Duration) setter {
	read := seconds(to, "invalid timeout")
	return func(s string) error {
		err := read(s)
		if number, notOne := parseFloat(s); notOne == nil && number < 0 {
			return withHint(err, "without -w "+failure.Program+" waits for ever")
		}
		return err
	}
}

// runLimit is for the time that a command may run. It is not 0.
func runLimit(to *time.Duration) setter {
	read := seconds(to, "invalid limit")
	return func(s string) error {
		err := read(s)
		if err == nil && *to == 0 {
			return invalid("invalid limit (must be more than 0 seconds)", s)
		}
		return err
	}
}

// cooldownFrom is for the moment from which a cooldown counts.
func cooldownFrom(to *CooldownFrom) setter {
	return func(s string) error {
		from, known := moments[s]
		if !known {
			return invalid("invalid value of --cooldown-from (start, end or success)", s)
		}
		*to = from
		return nil
	}
}

// number is for an integer from min to max.
func number(to *int, min, max int64, invalid string) setter {
	return func(s string) (err error) { *to, err = parseInt(s, min, max, invalid); return err }
}

// size is for a number of bytes.
func size(to *int64, invalid string) setter {
	return func(s string) (err error) { *to, err = parseSize(s, invalid); return err }
}
