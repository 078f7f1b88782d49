package cli

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pborman/getopt/v2"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// An option is one line of the table below. It implements getopt.Value.
type option struct {
	short rune
	long  string
	set   func(value string) error
	value bool // takes a value
	own   bool // util-linux does not have it; its names win when an abbreviation is ambiguous
}

func (opt *option) Set(value string, _ getopt.Option) error { return opt.set(value) }
func (opt *option) String() string                          { return "" }

// table lists the options and says what each one sets.
func (p *parser) table() []option {
	o := &p.o
	flag := func(short rune, long string, set func()) option {
		return option{short, long, func(string) error { set(); return nil }, false, false}
	}
	value := func(short rune, long string, set func(string) error) option {
		return option{short, long, set, true, false}
	}
	own := func(opt option) option { opt.own = true; return opt }
	timeout := func(s string) (err error) {
		o.Timeout, err = parseSeconds(s, "invalid timeout")
		o.Limited = true
		return err
	}
	nonblock := func() { o.Nonblock = true }
	return []option{
		flag('s', "shared", func() { o.Op = locks.Shared }),
		flag('x', "exclusive", func() { o.Op = locks.Exclusive }),
		flag('e', "", func() { o.Op = locks.Exclusive }),
		flag('u', "unlock", func() { o.Op = locks.Unlock }),
		flag('n', "nonblocking", nonblock),
		flag(0, "nb", nonblock),
		value('w', "timeout", timeout),
		value(0, "wait", timeout),
		value('E', "conflict-exit-code", func(s string) (err error) {
			const invalid = "invalid exit code (allowed values: 0-255)"
			o.ConflictExit, err = parseInt(s, 0, 255, invalid)
			return err
		}),
		flag('o', "close", func() { o.Close = true }),
		flag('F', "no-fork", func() { o.NoFork = true }),
		flag(0, "verbose", func() { o.Verbose = true }),
		flag(0, "fcntl", func() { p.fcntl = true }),
		value(0, "start", func(s string) (err error) {
			p.fcntl, p.ranged = true, true
			o.Range.Start, err = parseSize(s, "invalid as start offset")
			return err
		}),
		value(0, "length", func(s string) (err error) {
			p.fcntl, p.ranged = true, true
			o.Range.Length, err = parseSize(s, "invalid as length of lock range")
			return err
		}),
		value(0, "fd", func(s string) (err error) {
			p.fdOption = true
			o.FD, err = parseDescriptor(s)
			return err
		}),
		own(value(0, "backend", p.setBackend)),
		own(value(0, "permits", func(s string) (err error) {
			const invalid = "invalid number of permits (1 or more)"
			o.Permits, err = parseInt(s, 1, math.MaxInt32, invalid)
			return err
		})),
		own(value(0, "cooldown", func(s string) (err error) {
			o.Cooldown, err = parseSeconds(s, "invalid cooldown")
			return err
		})),
		own(value(0, "queue", func(s string) (err error) {
			const invalid = "invalid number of waiting processes (0 or more)"
			o.Queued = true
			o.Queue, err = parseInt(s, 0, math.MaxInt32, invalid)
			return err
		})),
		own(value(0, "report", func(s string) (err error) {
			o.Reports = true
			o.ReportAfter, err = parseSeconds(s, "invalid time of a report")
			return err
		})),
		own(flag(0, "remove", func() { o.Remove = true })),
		own(flag(0, "holders", func() { o.Action = Holders })),
		flag('h', "help", func() { o.Action = Help }),
		flag('V', "version", func() { o.Action = Version }),
	}
}

// restrict makes a backend's program refuse the options that it does not know, and adds those that only it has.
func (p *parser) restrict(table []option) []option {
	if p.program == "" {
		return table
	}
	for i := range table {
		name := cmp.Or(table[i].long, string(table[i].short))
		if !slices.Contains(p.known, name) {
			table[i].set = func(string) error {
				return failure.Usage("--" + name + " cannot be combined with the backend " + p.program)
			}
		}
	}
	for _, name := range p.own {
		answer := func(string) error { p.o.Action, p.o.Own = Own, name; return nil }
		table = append(table, option{long: name, set: answer, own: true})
	}
	takeAway := func(string) error { p.o.Action = Break; return nil }
	return append(table, option{long: "break", set: takeAway, own: true})
}

// parseOptions reads the leading options as GNU getopt_long reads them, and returns the words after them.
func (p *parser) parseOptions(given []string) (rest []string, err error) {
	table := p.restrict(p.table())
	args := expand(table, given)
	set := getopt.New()
	for i := range table {
		if !mentions(args, &table[i]) {
			continue // each declaration walks the stack twice, which would cost a run by directory 5 % in all
		}
		declared := set.FlagLong(&table[i], table[i].long, table[i].short)
		if !table[i].value {
			declared.SetFlag()
		}
	}
	set.FlagLong(&option{set: func(string) error { return nil }}, "command", 'c').SetFlag()

	unrecognized := false
	word := func() string { return given[len(given)-set.NArgs()] } // as the user wrote it
	err = set.Getopt(args, func(opt getopt.Option) bool {
		isCommand := opt.LongName() == "command"
		long := strings.HasPrefix(word(), "--")
		unrecognized = opt.IsFlag() && long && strings.Contains(word(), "=") ||
			isCommand && !long && word() != "-c"
		if isCommand {
			p.shellOption = word()
		}
		return !unrecognized && !p.isAnswered()
	})
	if err == nil && !unrecognized {
		return set.Args(), nil
	}
	if bad, ok := err.(*getopt.Error); ok {
		switch bad.ErrorCode {
		case getopt.Invalid:
			return nil, bad.Err
		case getopt.MissingParameter:
			return nil, &failure.Error{Status: output.ExUsage, Text: "option '" + word() + "' requires an argument", Try: true}
		}
	}
	return nil, &failure.Error{Status: output.ExUsage, Text: "unrecognized option '" + word() + "'", Try: true}
}

// mentions reports whether the option may be among args, abbreviations expanded.
func mentions(args []string, opt *option) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-") && (strings.ContainsRune(arg, opt.short) || opt.long != "" && strings.Contains(arg, opt.long))
	})
}

// expand returns args with whole names in place of the abbreviated long options, which getopt/v2 does not know. An
// abbreviation of one letter, which it would read as a short option, becomes a name that there is not, unless it is one of an
// option.
func expand(table []option, args []string) []string {
	args = slices.Clone(args)
	for i := 1; i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--"; i++ {
		name, isLong := strings.CutPrefix(args[i], "--")
		if !isLong {
			if takesNext(table, args[i][1:]) {
				i++
			}
			continue
		}
		name, _, attached := strings.Cut(name, "=")
		value := args[i][len("--")+len(name):]
		if opt := findOption(table, name); opt != nil {
			args[i] = "--" + opt.long + value
			if opt.value && !attached {
				i++
			}
		} else if len(name) == 1 {
			args[i] = "--" + name + "-" + value
		}
	}
	return args
}

// takesNext reports whether the value of one of the short options is the next word.
func takesNext(table []option, letters string) bool {
	for i, letter := range letters {
		for _, opt := range table {
			if opt.short == letter && opt.value {
				return i == len(letters)-1
			}
		}
	}
	return false
}

// findOption returns the option with the long name prefix, or else the only one whose long name begins with it, or nil. If
// both an option of util-linux and one of ours begin with prefix, that of util-linux wins.
func findOption(table []option, prefix string) (found *option) {
	for i := range table {
		if table[i].long == prefix {
			return &table[i]
		}
	}
	for _, own := range []bool{false, true} {
		matches := 0
		for i := range table {
			if table[i].own == own && strings.HasPrefix(table[i].long, prefix) {
				found = &table[i]
				matches++
			}
		}
		if matches > 0 {
			if matches > 1 {
				return nil
			}
			return found
		}
	}
	return nil
}
