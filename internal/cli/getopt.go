package cli

import (
	"slices"
	"strings"

	"github.com/pborman/getopt/v2"

	"example.org/flock/internal/failure"
)

// A parser collects what the command line says.
type parser struct {
	o           Options
	args        []string
	set         *getopt.Set
	program     string // the backend whose program this is; "": it is flock
	options     []*option
	given       []string // the long names of those on the command line
	shell       func(text string) []string
	shellOption string // -c or --command, if it is among the options, which is allowed with --fd
}

// isGiven reports whether one of the options is on the command line.
func (p *parser) isGiven(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.given, name) })
}

// read reads the leading options as GNU getopt_long reads them.
func (p *parser) read() error {
	if len(p.args) < 2 {
		return tryHelp("not enough arguments")
	}
	p.declareAll()
	if err := p.set.Getopt(p.args, func(getopt.Option) (goesOn bool) { return !p.isAnswered() }); err != nil {
		return p.asUsage(err.(*getopt.Error))
	}
	p.derive()
	return nil
}

// isAnswered reports whether an option was read after which nothing else counts.
func (p *parser) isAnswered() bool { return p.o.Action >= Own || p.o.Backend == Other }

// word returns the word that getopt has come to. In flock --verb -w 5 f true, at -w, four of six words are left, with -w
// itself: args[6-4] is -w.
func (p *parser) word() string { return p.args[len(p.args)-p.set.NArgs()] }

// declareAll declares to getopt the options that are in the words, each by the name that it has there, since getopt/v2
// knows no abbreviations. To declare all options took a seventh of a run that unlocks a number: getopt looks up for each
// which line of the source declares it. That a word of the command looks like an option does no harm.
func (p *parser) declareAll() {
	for _, word := range p.args[1:] {
		if name := longName(word); name != "" {
			// Of --E, a short option with two dashes, getopt would make -E, which GNU getopt_long does not.
			if opt := p.find(name); opt != nil || len(name) == 1 {
				p.declare(name, 0, opt)
			}
		} else if strings.HasPrefix(word, "-") {
			for _, letter := range word[1:] {
				if opt := p.byLetter(letter); opt != nil {
					p.declare("", letter, opt)
				}
			}
		}
	}
	p.set.FlagLong(setter(p.setShellOption), "command", 'c').SetFlag() // it cannot be abbreviated
}

// declare declares an option by one of its names, long or short, or a name that is none: then opt is nil.
func (p *parser) declare(long string, short rune, opt *option) {
	if p.set.Lookup(long).Value() != nil || p.set.Lookup(short).Value() != nil { // an option without a name has no value
		return
	}
	isFlag := opt == nil || opt.kind&flag != 0
	declared := p.set.FlagLong(setter(func(value string) error {
		word := p.word()
		switch {
		case opt == nil, isFlag && long != "" && strings.Contains(word, "="): // --close=yes
			return p.unrecognized(word, "")
		case p.program != "" && opt.kind&ofFiles != 0:
			return failure.Usage("--" + opt.long + " cannot be combined with the backend " + p.program)
		}
		p.given = append(p.given, opt.long)
		return opt.set(value)
	}), long, short)
	if isFlag {
		declared.SetFlag()
	}
}

// setShellOption notes -c, which is a word of its own.
func (p *parser) setShellOption(string) error {
	p.shellOption = p.word()
	if !isShellOption(p.shellOption) { // -nc or --command=TEXT
		return p.unrecognized(p.shellOption, joinedHint)
	}
	return nil
}

// isShellOption reports whether a word is the option -c, which stands alone.
func isShellOption(word string) bool { return word == "-c" || word == "--command" }

// asUsage returns the error for the user of what getopt says of a word.
func (p *parser) asUsage(bad *getopt.Error) error {
	switch word := p.word(); bad.ErrorCode {
	case getopt.Invalid:
		usage := bad.Err.(*failure.Error)
		if usage.Hint == "" {
			usage.Hint = p.valueHint(word)
		}
		return usage
	case getopt.MissingParameter:
		return tryHelp("option '" + word + "' requires an argument")
	default:
		return p.unrecognized(word, "")
	}
}

// unrecognized is the error of a word with an option that flock does not have.
func (p *parser) unrecognized(word, hint string) error {
	return withHint(tryHelp("unrecognized option '"+word+"'"), p.unknownHint(word, hint))
}

// tryHelp returns a usage error that is followed by the line about --help.
func tryHelp(text string) *failure.Error {
	err := failure.Usage(text)
	err.Try = true
	return err
}

// longName returns the name in the word of a long option; "" if it is none.
func longName(word string) string {
	name, isLong := strings.CutPrefix(word, "--")
	if !isLong {
		return ""
	}
	name, _, _ = strings.Cut(name, "=")
	return name
}

// byLetter returns the option with a short name, or nil.
func (p *parser) byLetter(letter rune) *option {
	for _, opt := range p.options {
		if opt.short == letter {
			return opt
		}
	}
	return nil
}

// find returns the option with the long name prefix, or else the only one whose long name begins with it, or nil.
func (p *parser) find(prefix string) *option {
	if found := p.abbreviated(prefix); len(found) == 1 {
		return found[0]
	}
	return nil
}

// abbreviated returns the option with the long name prefix, or else those whose long names begin with it: of util-linux
// if there is one, and otherwise our own, which come behind them.
func (p *parser) abbreviated(prefix string) (found []*option) {
	for _, opt := range p.options {
		if opt.long == prefix {
			return []*option{opt}
		}
		if strings.HasPrefix(opt.long, prefix) && (len(found) == 0 || found[0].kind&ours == opt.kind&ours) {
			found = append(found, opt)
		}
	}
	return found
}
