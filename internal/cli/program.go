package cli

import (
	"github.com/pborman/getopt/v2"

	"example.org/flock/internal/failure"
)

// ParseFor reads args for the program of a backend, which is to refuse descriptor numbers. Backend is Other. The
// program has --break and, by their long names, options of its own besides, each of which is an Action. It refuses the
// options that are about files.
func ParseFor(backend string, args, own []string, shell func(text string) []string) (*Options, error) {
	p := programParser(backend, own, shell)
	words, err := p.read(args)
	if err != nil || p.isAnswered() {
		return &p.o, err
	}
	p.o.Backend, p.o.BackendName = Other, backend
	if err := p.checkOptions(); err != nil {
		return nil, err
	}
	if err := p.parseName(words); err != nil {
		return nil, err
	}
	return &p.o, p.checkAction()
}

// programParser returns a parser with the options of the program of a backend.
func programParser(backend string, own []string, shell func(text string) []string) *parser {
	p := newParser(shell)
	p.addCommon()
	p.refuse(backend, p.addFile)
	p.addOurs()
	p.refuse(backend, p.addOursOfFlock)
	p.addOursOfProgram(backend, own)
	return p
}

// refuse adds options of flock that the program does not have.
func (p *parser) refuse(backend string, add func()) {
	others := len(p.options)
	add()
	for _, opt := range p.options[others:] {
		opt.value = refusedBy(backend)
	}
}

// addOursOfProgram adds the options that flock does not have, or not in the same way.
func (p *parser) addOursOfProgram(backend string, own []string) {
	p.value(setter(func(name string) error {
		if name == backend {
			return nil
		}
		return failure.Usage("invalid backend in --backend: '" + name +
			"' (this program is the backend " + backend + ")")
	}), "backend", 0)
	p.flag(choose(&p.o.Action, Break), "break", 0)
	for _, name := range own {
		p.flag(setter(func(string) error { p.o.Action, p.o.Own = Own, name; return nil }), name, 0)
	}
}

// refusedBy is an option that a backend does not have.
type refusedBy string

func (r refusedBy) String() string { return "" }

func (r refusedBy) Set(_ string, opt getopt.Option) error {
	return failure.Usage("--" + opt.LongName() + " cannot be combined with the backend " + string(r))
}

const missingName = "missing name of a lock, and command"

// parseName reads what follows the options: the name of a lock, and the command.
func (p *parser) parseName(words []string) error {
	switch {
	case p.o.Action == Holders && len(words) == 0 && p.shellOption == "":
		return nil // all locks
	case p.o.Action != Lock && (len(words) != 1 || p.shellOption != ""):
		return failure.Usage("--holders and --break take one name")
	case p.o.Action != Lock:
		p.o.File = words[0] // also one of digits: no descriptor has such a lock
		return nil
	case len(words) == 1 && p.shellOption != "": // it is the text for the shell
		return withHint(failure.Usage(missingName), p.hintShell(p.shellOption))
	case len(words) == 0:
		return failure.Usage(missingName)
	case len(words) == 1:
		if _, err := parseDescriptor(words[0]); err != nil {
			return failure.Usage("missing command")
		}
	}
	return p.parseOperands(words)
}
