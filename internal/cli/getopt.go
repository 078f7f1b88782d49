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
	theirs      int      // how many of them util-linux has, too: the first ones; set by addOurs
	given       []string // the long names of those on the command line
	shell       func(text string) []string
	shellOption string // -c or --command, if it is among the options, which is allowed with --fd
}

// An option is one that the command line may have.
type option struct {
	value  any // what getopt sets
	long   string
	short  rune
	isFlag bool // it has no value
}

func newParser(shell func(text string) []string) *parser {
	return &parser{o: Options{FD: -1, ConflictExit: 1}, set: getopt.New(), shell: shell}
}

// flockParser returns a parser with the options of flock.
func flockParser(shell func(text string) []string) *parser {
	p := newParser(shell)
	p.addCommon()
	p.addFile()
	p.addOurs()
	p.addOursOfFlock()
	p.value(setter(p.setBackend), "backend", 0)
	return p
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

// isGiven reports whether one of the options is on the command line.
func (p *parser) isGiven(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.given, name) })
}

// addCommon adds the options of util-linux that the programs of backends have, too.
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
}

// addFile adds the options of util-linux that are about files: only flock itself has them.
func (p *parser) addFile() {
	o := &p.o
	p.flag(choose(&o.Op, locks.Unlock), "unlock", 'u')
	p.flag(&o.NoFork, "no-fork", 'F')
	p.flag(new(bool), "fcntl", 0)
	p.value(size(&o.Range.Start, "invalid as start offset"), "start", 0)
	p.value(size(&o.Range.Length, "invalid as length of lock range"), "length", 0)
	p.value(setter(func(s string) (err error) { o.FD, err = parseDescriptor(s); return err }), "fd", 0)
}

// addOurs adds options that util-linux does not have. They come behind all that it has: if an abbreviation means one of
// those, it wins.
func (p *parser) addOurs() {
	p.theirs = len(p.options)
	o := &p.o
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

// addOursOfFlock adds those of ours that only flock itself has.
func (p *parser) addOursOfFlock() { p.flag(&p.o.Replace, "replace", 0) }

// read reads the leading options as GNU getopt_long reads them, and returns the words after them.
func (p *parser) read(args []string) (operands []string, err error) {
	if len(args) < 2 {
		return nil, tryHelp("not enough arguments")
	}
	expanded := p.expand(args) // as many words: the one that getopt has come to is at the same place in both
	p.declare(expanded)
	// In flock --verb -w 5 f true, at -w, four of six words are left, with -w itself: args[6-4] is -w.
	current := func() string { return args[len(args)-p.set.NArgs()] }
	isJoined := false // -c is in a word with other options or its text, as in -nc or --command=TEXT
	err = p.set.Getopt(expanded, func(opt getopt.Option) (goesOn bool) {
		p.given = append(p.given, opt.LongName())
		if opt.LongName() == "command" {
			p.shellOption = current()
			isJoined = !isShellOption(p.shellOption)
		}
		return !isJoined && !p.isAnswered()
	})
	if err != nil || isJoined {
		return nil, p.asUsage(err, current(), isJoined)
	}
	p.derive()
	return p.set.Args(), nil
}

// isShellOption reports whether a word is the option -c, which stands alone.
func isShellOption(word string) bool { return word == "-c" || word == "--command" }

// asUsage returns the error for the user: err is what getopt says of a word, or nil if that is a joined -c.
func (p *parser) asUsage(err error, word string, isJoined bool) error {
	if bad, ok := err.(*getopt.Error); ok {
		switch bad.ErrorCode {
		case getopt.Invalid:
			if usage, ok := bad.Err.(*failure.Error); ok && usage.Hint == "" {
				usage.Hint = p.valueHint(word)
			}
			return bad.Err
		case getopt.MissingParameter:
			return tryHelp("option '" + word + "' requires an argument")
		}
	}
	unknown := tryHelp("unrecognized option '" + word + "'")
	unknown.Hint = p.unknownHint(word, isJoined)
	return unknown
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

// declare declares to getopt the options that may be in the words. To declare all of them took a seventh of a run that
// unlocks a number: getopt looks up for each which line of the source declares it.
func (p *parser) declare(words []string) {
	for _, opt := range p.options {
		if !slices.ContainsFunc(words, opt.mayBeIn) {
			continue
		}
		if declared := p.set.FlagLong(opt.value, opt.long, opt.short); opt.isFlag {
			declared.SetFlag()
		}
	}
	// It is not among p.options: it cannot be abbreviated.
	p.set.FlagLong(setter(func(string) error { return nil }), "command", 'c').SetFlag()
}

// mayBeIn reports whether a word has the option, if it is a word of options, unabbreviated.
func (o *option) mayBeIn(word string) bool {
	switch {
	case strings.HasPrefix(word, "--"):
		name, _, _ := strings.Cut(word[2:], "=")
		return name == o.long
	case strings.HasPrefix(word, "-"):
		return strings.ContainsRune(word, o.short)
	}
	return false
}

// expand returns args with whole names in place of the abbreviated long options, which getopt/v2 does not know.
func (p *parser) expand(args []string) []string {
	args = slices.Clone(args)
	for i := 1; i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--"; i++ {
		takesNext := false
		if strings.HasPrefix(args[i], "--") {
			args[i], takesNext = p.expandLong(args[i])
		} else {
			takesNext = p.takesNext(args[i][1:])
		}
		if takesNext {
			i++
		}
	}
	return args
}

// expandLong returns the word of a long option with its whole name, and whether its value is the next word.
func (p *parser) expandLong(word string) (whole string, takesNext bool) {
	name, value, hasValue := strings.Cut(word[2:], "=")
	opt := p.find(name)
	isLetter := opt == nil && len(name) == 1                // --E, a short option with two dashes
	isFlagWithValue := opt != nil && opt.isFlag && hasValue // --close=yes
	switch {
	case isLetter, isFlagWithValue: // getopt accepts these and GNU getopt_long does not: no option ends in -
		return "--" + name + "-", false
	case opt == nil: // getopt does not know it either
		return word, false
	case hasValue:
		return "--" + opt.long + "=" + value, false
	}
	return "--" + opt.long, !opt.isFlag
}

// takesNext reports whether the next word is the value of one of some short options that stand together: the first that
// has a value is the last of them.
func (p *parser) takesNext(letters string) bool {
	hasValue := func(letter rune) bool {
		return slices.ContainsFunc(p.options, func(opt *option) bool { return opt.short == letter && !opt.isFlag })
	}
	first := strings.IndexFunc(letters, hasValue)
	return first >= 0 && first == len(letters)-1
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
	var theirs, ours []*option
	for i, opt := range p.options {
		switch name := opt.long; {
		case name == prefix && name != "":
			return []*option{opt}
		case !strings.HasPrefix(name, prefix):
		case i >= p.theirs:
			ours = append(ours, opt)
		default:
			theirs = append(theirs, opt)
		}
	}
	if len(theirs) == 0 {
		return ours
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
