package main

import (
	"math"
	"strings"
	"time"

	"github.com/pborman/getopt/v2"
)

// operation is what is to be done with the lock.
type operation uint8

const (
	exclusive operation = iota
	shared
	unlock
)

// options is the command line, checked.
type options struct {
	show func(name string) string // --help and --version: what to print; nil otherwise

	op           operation
	nonblock     bool
	limited      bool          // --timeout was given: wait no longer than
	timeout      time.Duration // this
	conflictExit int
	deadline     time.Time // if limited, set when the work begins

	file     string // lock file or directory, if hasFile
	hasFile  bool
	fd       int      // descriptor number; -1 with a file
	fdOption bool     // the number came with --fd
	command  []string // nil with a descriptor number alone
	shell    string   // -c or --command, if it stands among the options
	closeFd  bool
	noFork   bool
	verbose  bool
	fcntl    bool
	start    int64 // bytes
	length   int64 // bytes; 0: to the end of the file

	permits  int           // 0: not given
	cooldown time.Duration // 0: not given
	holders  bool

	backendName string
	backend     backend
	supervisor  int           // process id of the flock that has started this one; 0: none
	caller      int           // of that one
	left        time.Duration // how much of the timeout that one had left
}

// option is one line of the table below. It implements getopt.Value.
type option struct {
	short rune
	long  string
	set   func(value string) error
	value bool // takes a value
	own   bool // not the reference's: comes second for abbreviations
}

func (opt *option) Set(value string, _ getopt.Option) error { return opt.set(value) }
func (opt *option) String() string                          { return "" }

// parseOptions reads the command line as GNU getopt_long reads it, up to the
// first word that is not an option.
func parseOptions(args []string) (*options, error) {
	if len(args) < 2 {
		return nil, &usageError{"not enough arguments", true}
	}
	o := &options{fd: -1, conflictExit: 1}
	rest, err := o.parse(args)
	if err != nil || o.show != nil {
		return o, err
	}
	if err := o.operands(rest); err != nil {
		return o, err
	}
	return o, supported(o)
}

// parse sets o from the leading options of args and returns the words after
// them. -c or --command among them, a word of its own, is for --fd.
func (o *options) parse(args []string) (rest []string, err error) {
	if supervisor, ok := strings.CutPrefix(args[1], supervisorOption); ok {
		if err := o.supervised(supervisor); err != nil {
			return nil, err
		}
		if args = args[1:]; len(args) < 2 {
			return nil, nil
		}
	}
	if !strings.HasPrefix(args[1], "-") {
		return args[1:], nil
	}
	set := getopt.New()
	declare(set, o.table(), args[1:])
	set.FlagLong(&option{set: func(string) error { return nil }}, "command", 'c').SetFlag()

	unrecognized := false
	err = set.Getopt(args, func(opt getopt.Option) bool {
		word := set.Args()[0]
		isCommand := opt.LongName() == "command"
		long := strings.HasPrefix(word, "--")
		unrecognized = opt.IsFlag() && long && strings.Contains(word, "=") ||
			isCommand && !long && word != "-c"
		if isCommand {
			o.shell = word
		}
		return !unrecognized && o.show == nil
	})
	if err == nil && !unrecognized {
		return set.Args(), nil
	}
	if bad, ok := err.(*getopt.Error); ok {
		switch bad.ErrorCode {
		case getopt.Invalid:
			return nil, bad.Err
		case getopt.MissingParameter:
			return nil, &usageError{"option '" + set.Args()[0] + "' requires an argument", true}
		}
	}
	return nil, &usageError{"unrecognized option '" + set.Args()[0] + "'", true}
}

// supervisorOption stands first in the words with which flock starts itself.
const supervisorOption = "--supervisor="

// supervised reads what a supervisor says of itself: its process id, that of
// its caller, and how many nanoseconds of the timeout are left.
func (o *options) supervised(s string) (err error) {
	const invalid = "invalid supervisor"
	part := strings.Split(s+"++", "+")
	o.noFork = true
	if o.supervisor, err = parseInt(part[0], 1, math.MaxInt32, invalid); err != nil {
		return err
	}
	if o.caller, err = parseInt(part[1], 0, math.MaxInt32, invalid); err == nil && part[2] != "" {
		o.left, err = time.ParseDuration(part[2] + "ns")
	}
	return err
}

// declare tells set of those options in table that occur in words: to declare
// one takes longer than all the rest of a short run. Among them are those that
// are abbreviated: getopt/v2 knows no abbreviations.
func declare(set *getopt.Set, table []option, words []string) {
	known := map[string]bool{}
	add := func(opt *option, long string, short rune) {
		if name := "-" + string(short) + long; !known[name] {
			known[name] = true
			if declared := set.FlagLong(opt, long, short); !opt.value {
				declared.SetFlag()
			}
		}
	}
	for _, word := range words {
		if word == "--" {
			return
		}
		if letters, ok := strings.CutPrefix(word, "-"); ok && !strings.HasPrefix(letters, "-") {
			for i := range table {
				if short := table[i].short; short != 0 && strings.ContainsRune(letters, short) {
					add(&table[i], "", short)
				}
			}
			continue
		}
		name, isLong := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if !isLong || name == "" {
			continue
		}
		if opt := abbreviated(table, name); opt != nil {
			add(opt, name, 0)
		} else if len(name) == 1 {
			add(never(word), name, 0) // getopt/v2 would take --n for -n
		}
	}
}

// abbreviated returns the option with that long name, or the only one whose
// long name begins with it, or nil. The reference's names win over our own.
func abbreviated(table []option, prefix string) (found *option) {
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

// never is an option that is there only to be an error.
func never(word string) *option {
	return &option{set: func(string) error {
		return &usageError{"unrecognized option '" + word + "'", true}
	}}
}

// operands sorts out what follows the options: the lock file or a descriptor
// number, and the command.
func (o *options) operands(words []string) error {
	if o.noFork && o.closeFd {
		return &usageError{text: "the --no-fork and --close options are incompatible"}
	}
	if o.permits > 0 && o.op != exclusive {
		return &usageError{text: "--permits does not go with --shared or --unlock"}
	}
	if o.cooldown > 0 && (o.permits > 0 || o.op == shared) {
		// Two could look at the time, and then set it, at once.
		return &usageError{text: "--cooldown does not go with --shared or --permits"}
	}
	if o.permits > 0 && o.fcntl {
		return &usageError{text: "--permits does not go with --fcntl, --start or --length"}
	}
	if err := o.chooseBackend(); err != nil {
		return err
	}
	if o.limited && o.timeout == 0 {
		o.nonblock, o.limited = true, false
	}
	if o.holders {
		return o.whose(words)
	}
	if o.shell == "" && !o.fdOption && len(words) > 0 {
		if len(words) == 1 {
			fd, err := parseDescriptor(words[0])
			if err != nil {
				return err
			}
			o.fd = fd
		} else {
			o.file, o.hasFile = words[0], true
		}
		words = words[1:]
	}
	if o.hasFile && (words[0] == "-c" || words[0] == "--command") {
		o.shell, words = words[0], words[1:]
	}
	if o.shell != "" {
		if len(words) != 1 {
			return &usageError{text: o.shell + " requires exactly one command argument"}
		}
		words = shellCommand(words[0])
	}
	if o.fdOption && len(words) == 0 {
		return &usageError{text: "missing command"}
	}
	if !o.hasFile && o.fd < 0 {
		return &usageError{text: "missing file descriptor, file or directory"}
	}
	o.command = words
	return nil
}

// table lists the options. The reference's own names stand first: an
// abbreviation is looked for among those, and only then among the rest.
func (o *options) table() []option {
	flag := func(short rune, long string, set func()) option {
		return option{short, long, func(string) error { set(); return nil }, false, false}
	}
	value := func(short rune, long string, set func(string) error) option {
		return option{short, long, set, true, false}
	}
	own := func(opt option) option { opt.own = true; return opt }
	timeout := func(s string) (err error) {
		o.timeout, err = parseSeconds(s, "invalid timeout")
		o.limited = true
		return err
	}
	nonblock := func() { o.nonblock = true }
	return []option{
		flag('s', "shared", func() { o.op = shared }),
		flag('x', "exclusive", func() { o.op = exclusive }),
		flag('e', "", func() { o.op = exclusive }),
		flag('u', "unlock", func() { o.op = unlock }),
		flag('n', "nonblocking", nonblock),
		flag(0, "nb", nonblock),
		value('w', "timeout", timeout),
		value(0, "wait", timeout),
		value('E', "conflict-exit-code", func(s string) (err error) {
			const invalid = "invalid exit code (allowed values: 0-255)"
			o.conflictExit, err = parseInt(s, 0, 255, invalid)
			return err
		}),
		flag('o', "close", func() { o.closeFd = true }),
		flag('F', "no-fork", func() { o.noFork = true }),
		flag(0, "verbose", func() { o.verbose = true }),
		flag(0, "fcntl", func() { o.fcntl = true }),
		value(0, "start", func(s string) (err error) {
			o.fcntl = true
			o.start, err = parseSize(s, "invalid as start offset")
			return err
		}),
		value(0, "length", func(s string) (err error) {
			o.fcntl = true
			o.length, err = parseSize(s, "invalid as length of lock range")
			return err
		}),
		value(0, "fd", func(s string) (err error) {
			o.fdOption = true
			o.fd, err = parseDescriptor(s)
			return err
		}),
		own(value(0, "backend", func(s string) error {
			o.backendName = s
			return nil
		})),
		own(value(0, "permits", func(s string) (err error) {
			const invalid = "invalid number of permits (1 or more)"
			o.permits, err = parseInt(s, 1, math.MaxInt32, invalid)
			return err
		})),
		own(value(0, "cooldown", func(s string) (err error) {
			o.cooldown, err = parseSeconds(s, "invalid cooldown")
			return err
		})),
		own(flag(0, "holders", func() { o.holders = true })),
		flag('h', "help", func() { o.show = helpText }),
		flag('V', "version", func() { o.show = versionText }),
	}
}

// whose sorts out the operands of --holders: a file or directory, or a number
// that is a descriptor.
func (o *options) whose(words []string) error {
	if o.fdOption && len(words) == 0 && o.shell == "" {
		return nil
	}
	if o.fdOption || len(words) != 1 || o.shell != "" {
		return &usageError{text: "--holders wants one file, directory or descriptor number"}
	}
	fd, err := parseDescriptor(words[0])
	if err == nil && fd >= 0 {
		o.fd = fd
		return nil
	}
	o.file, o.hasFile = words[0], true
	return nil
}
