package cli

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pborman/getopt/v2"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// A parser collects what the command line says.
type parser struct {
	o           Options
	set         *getopt.Set
	options     []*option
	given       []string // the long names of those on the command line
	ours        []string // those that util-linux does not have: if an abbreviation is ambiguous, the others win
	shell       func(text string) []string
	shellOption string // -c or --command, if it is among the options, which is allowed with --fd
}

// An option is one that the command line may have. Only those that it has are declared to getopt, which notes for each
// where in the source that is done: for all of them this took a seventh of a run that unlocks a number.
type option struct {
	value    any // what getopt sets
	long     string
	short    rune
	isFlag   bool // it has no value
	declared bool
}

func newParser(shell func(text string) []string) *parser {
	ours := []string{"permits", "cooldown", "cooldown-from", "queue", "report", "remove", "holders", "backend", "limit",
		"kill-children"}
	return &parser{o: Options{FD: -1, ConflictExit: 1}, set: getopt.New(), ours: ours, shell: shell}
}

// A setter is the getopt.Value of an option: it sets what the option stands for.
type setter func(value string) error

func (set setter) Set(value string, _ getopt.Option) error { return set(value) }
func (set setter) String() string                          { return "" }

// choose is for one of several options that exclude each other: the last one counts.
func choose[T any](to *T, choice T) setter {
	return func(string) error { *to = choice; return nil }
}

// seconds is for a duration; invalid is the message for an invalid value.
func seconds(to *time.Duration, invalid string) setter {
	return func(s string) (err error) {
		*to, err = parseSeconds(s, invalid)
		return withHint(err, secondsHint(s))
	}
}

// timeout is for the duration of a wait.
func timeout(to *time.Duration) setter {
	return func(s string) (err error) {
		*to, err = parseSeconds(s, "invalid timeout")
		return withHint(err, timeoutHint(s))
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

// flag adds an option without a value.
func (p *parser) flag(value any, long string, short rune) {
	p.options = append(p.options, &option{value: value, long: long, short: short, isFlag: true})
}

// value adds an option with a value.
func (p *parser) value(value getopt.Value, long string, short rune) {
	p.options = append(p.options, &option{value: value, long: long, short: short})
}

// declare declares an option to getopt.
func (p *parser) declare(o *option) {
	if o.declared {
		return
	}
	o.declared = true
	if opt := p.set.FlagLong(o.value, o.long, o.short); o.isFlag {
		opt.SetFlag()
	}
}

// isGiven reports whether one of the options is on the command line.
func (p *parser) isGiven(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.given, name) })
}

// addCommon adds the options of flock and of the programs of backends.
func (p *parser) addCommon() {
	o := &p.o
	p.flag(choose(&o.Op, locks.Shared), "shared", 's')
	p.flag(choose(&o.Op, locks.Exclusive), "exclusive", 'x')
	p.flag(choose(&o.Op, locks.Exclusive), "", 'e')
	p.flag(&o.Nonblock, "nonblocking", 'n')
	p.flag(&o.Nonblock, "nb", 0)
	p.value(timeout(&o.Timeout), "timeout", 'w')
	p.value(timeout(&o.Timeout), "wait", 0)
	p.value(number(&o.ConflictExit, 0, 255, "invalid exit code (allowed values: 0-255)"), "conflict-exit-code", 'E')
	p.flag(&o.Close, "close", 'o')
	p.flag(&o.Verbose, "verbose", 0)
	p.flag(choose(&o.Action, Help), "help", 'h')
	p.flag(choose(&o.Action, Version), "version", 'V')
	p.value(number(&o.Permits, 1, math.MaxInt32, "invalid number of permits (must be 1 or more)"), "permits", 0)
	p.value(seconds(&o.Cooldown, "invalid cooldown"), "cooldown", 0)
	p.value(cooldownFrom(&o.CooldownFrom), "cooldown-from", 0)
	p.value(number(&o.Queue, 0, math.MaxInt32, "invalid number of waiting processes (0 or more)"), "queue", 0)
	p.value(seconds(&o.ReportAfter, "invalid time of a report"), "report", 0)
	p.value(runLimit(&o.Limit), "limit", 0)
	p.flag(&o.KillChildren, "kill-children", 0)
	p.flag(&o.Remove, "remove", 0)
	p.flag(choose(&o.Action, Holders), "holders", 0)
}

// addFile adds the options that only flock itself has, which locks files.
func (p *parser) addFile() {
	o := &p.o
	p.flag(choose(&o.Op, locks.Unlock), "unlock", 'u')
	p.flag(&o.NoFork, "no-fork", 'F')
	p.flag(new(bool), "fcntl", 0)
	p.value(size(&o.Range.Start, "invalid as start offset"), "start", 0)
	p.value(size(&o.Range.Length, "invalid as length of lock range"), "length", 0)
	p.value(setter(func(s string) (err error) { o.FD, err = parseDescriptor(s); return err }), "fd", 0)
	p.value(setter(p.setBackend), "backend", 0)
}

// read reads the leading options as GNU getopt_long reads them, and returns the words after them.
func (p *parser) read(given []string) (words []string, err error) {
	if len(given) < 2 {
		return nil, tryHelp("not enough arguments")
	}
	// It is not among p.options: it cannot be abbreviated.
	p.set.FlagLong(setter(func(string) error { return nil }), "command", 'c').SetFlag()
	word := func() string { return given[len(given)-p.set.NArgs()] } // as the user wrote it
	isUnknown := false
	err = p.set.Getopt(p.expand(given), func(opt getopt.Option) bool {
		p.given = append(p.given, opt.LongName())
		if opt.LongName() == "command" {
			p.shellOption = word()
			isUnknown = p.shellOption != "-c" && p.shellOption != "--command" // but -nc, or --command=TEXT
		}
		return !isUnknown && !p.isAnswered()
	})
	if err == nil && !isUnknown {
		return p.set.Args(), nil
	}
	if bad, ok := err.(*getopt.Error); ok {
		switch bad.ErrorCode {
		case getopt.Invalid:
			if usage, ok := bad.Err.(*failure.Error); ok && usage.Hint == "" {
				usage.Hint = p.valueHint(word())
			}
			return nil, bad.Err
		case getopt.MissingParameter:
			return nil, tryHelp("option '" + word() + "' requires an argument")
		}
	}
	unknown := tryHelp("unrecognized option '" + word() + "'")
	unknown.Hint = p.unknownHint(word(), isUnknown)
	return nil, unknown
}

// tryHelp returns a usage error that is followed by the line about --help.
func tryHelp(text string) *failure.Error {
	err := failure.Usage(text)
	err.Try = true
	return err
}

// isAnswered reports whether an option was read after which nothing else counts.
func (p *parser) isAnswered() bool {
	return p.o.Action == Help || p.o.Action == Version || p.o.Action == Own || p.o.Backend == Other
}

// expand returns args with whole names in place of the abbreviated long options, which getopt/v2 does not know. What it
// would accept and GNU getopt_long does not, gets a name that no option has: a flag with a value (--close=yes), and a
// short option with two dashes (--E). It declares the options that it finds.
func (p *parser) expand(args []string) []string {
	args = slices.Clone(args)
	for i := 1; i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--"; i++ {
		name, isLong := strings.CutPrefix(args[i], "--")
		if !isLong {
			if p.declareShort(args[i][1:]) {
				i++
			}
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		opt := p.find(name)
		switch {
		case opt == nil && len(name) == 1, opt != nil && opt.isFlag && hasValue:
			args[i] = "--" + name + "-"
		case opt == nil:
		case hasValue:
			p.declare(opt)
			args[i] = "--" + opt.long + "=" + value
		default:
			p.declare(opt)
			args[i] = "--" + opt.long
			if !opt.isFlag {
				i++
			}
		}
	}
	return args
}

// declareShort declares short options that stand together, and reports whether the value of the last one is the next
// word.
func (p *parser) declareShort(letters string) (takesNext bool) {
	for i, letter := range letters {
		n := slices.IndexFunc(p.options, func(opt *option) bool { return opt.short == letter })
		if n < 0 {
			continue
		}
		p.declare(p.options[n])
		if !p.options[n].isFlag {
			return i == len(letters)-1
		}
	}
	return false
}

// find returns the option with the long name prefix, or else the only one whose long name begins with it, or nil.
func (p *parser) find(prefix string) *option {
	found := p.abbreviated(prefix)
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// abbreviated returns the option with the long name prefix, or else those whose long names begin with it: of util-linux
// if there is one, and otherwise our own.
func (p *parser) abbreviated(prefix string) []*option {
	var theirs, own []*option
	for _, opt := range p.options {
		switch name := opt.long; {
		case name == prefix && name != "":
			return []*option{opt}
		case !strings.HasPrefix(name, prefix):
		case slices.Contains(p.ours, name):
			own = append(own, opt)
		default:
			theirs = append(theirs, opt)
		}
	}
	if len(theirs) == 0 {
		return own
	}
	return theirs
}

// candidates is the hint for an abbreviation that is ambiguous.
func (p *parser) candidates(word string) string {
	prefix, isLong := strings.CutPrefix(word, "--")
	prefix, _, _ = strings.Cut(prefix, "=")
	var names []string
	for _, opt := range p.abbreviated(prefix) {
		names = append(names, "--"+opt.long)
	}
	if !isLong || prefix == "" || len(names) < 2 {
		return ""
	}
	return "'--" + prefix + "' is ambiguous: " + strings.Join(names, ", ")
}
