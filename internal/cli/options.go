// Package cli reads the command line of flock: argv becomes Options, which are checked and do not change afterwards. Every
// error is a *failure.Error.
package cli

import (
	"strings"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockbytes"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// Options is the command line, checked.
type Options struct {
	Action Action
	Own    string // the long name of the option of Action Own

	Op           locks.Op
	Nonblock     bool
	Limited      bool          // wait no longer than Timeout
	Timeout      time.Duration // from the start of the process
	ConflictExit int           // exit status when another process holds the lock

	File    string   // the lock file or directory, if FD is negative
	FD      int      // descriptor number; negative with a file
	Command []string // nil with a descriptor number alone

	Close   bool
	NoFork  bool
	Verbose bool
	Backend Backend
	Range   lockbytes.Range // for ByFcntl

	BackendName   string // as it was given; empty if it was not
	BackendSource string // --backend or FLOCK_BACKEND

	Permits  int           // 0: not given
	Cooldown time.Duration // 0: not given
	Remove   bool          // remove the lock file afterwards

	Queued      bool          // wait only if fewer than Queue wait already
	Queue       int           // 1 or more
	Reports     bool          // say who has the lock
	ReportAfter time.Duration // of waiting
}

// Action is what flock should do.
type Action uint8

const (
	Lock    Action = iota // or unlock, and run the command if there is one
	Holders               // list who holds the lock
	Break                 // take it away from them; of a backend's program only
	Own                   // of a backend's program, which knows the option: Options.Own
	Help
	Version
)

// Backend is a way of locking, or of choosing one.
type Backend uint8

const (
	Auto      Backend = iota // ByFlock, else ByFcntl, else Directory
	Native                   // ByFlock, else ByFcntl
	ByFlock                  // flock(2)
	ByFcntl                  // open file description locks of fcntl(2)
	Directory                // package fallback
	Other                    // a program of its own, flock-BackendName
)

var backends = map[string]Backend{
	"": Auto, "auto": Auto, "native": Native, "flock": ByFlock, "fcntl": ByFcntl, "directory": Directory,
}

// InvalidBackend returns the error for a backend that flock does not know. why ends the sentence in brackets; it may be
// empty.
func (o *Options) InvalidBackend(why string) error {
	return failure.Usage("invalid backend in " + o.BackendSource + ": '" + o.BackendName +
		"' (auto, native, flock, fcntl or directory" + why + ")")
}

// Parse reads args; the first of them is the program. getenv looks up FLOCK_BACKEND. shell returns the command for the text
// of -c.
//
// For --backend NAME with the name of a program, Backend is Other and nothing after it is read: that is for the program,
// which may have options of its own.
func Parse(args []string, getenv func(string) (string, bool), shell func(text string) []string) (*Options, error) {
	p := &parser{getenv: getenv}
	return p.parse(args, shell)
}

// ParseFor reads args for the program of a backend. It is Parse, but the backend is Other, and --backend may only say so.
// Of the options, by their long names, only those are accepted that the program knows; it has --break besides, and options
// of its own, each of which is an Action. It is for the program to refuse descriptor numbers.
func ParseFor(backend string, args, known, own []string, shell func(text string) []string) (*Options, error) {
	p := &parser{program: backend, known: known, own: own, getenv: func(string) (string, bool) { return backend, true }}
	return p.parse(args, shell)
}

// A parser collects what the command line says.
type parser struct {
	o           Options
	program     string   // the backend whose program this is; empty: flock itself
	known       []string // the options of that
	own         []string // those that only it has
	getenv      func(string) (string, bool)
	fcntl       bool   // --fcntl, --start or --length was given
	ranged      bool   // --start or --length was given
	shellOption string // -c or --command, if it is among the options, which is allowed with --fd
	fdOption    bool   // the number came with --fd
}

func (p *parser) parse(args []string, shell func(string) []string) (_ *Options, err error) {
	defer func() { p.addHint(err) }()
	p.o.FD, p.o.ConflictExit = -1, 1
	if len(args) < 2 {
		return nil, &failure.Error{Status: output.ExUsage, Text: "not enough arguments", Try: true}
	}
	words, err := p.parseOptions(args)
	if err != nil || p.isAnswered() {
		return &p.o, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.program == "" && p.isAnswered() {
		return &p.o, nil
	}
	if err := p.parseOperands(words, shell); err != nil {
		return nil, err
	}
	if err := p.checkRemove(); err != nil {
		return nil, err
	}
	return &p.o, p.checkSystem()
}

// isAnswered reports whether an option was read after which nothing else counts.
func (p *parser) isAnswered() bool {
	return p.o.Action == Help || p.o.Action == Version || p.o.Action == Own || p.o.Backend == Other
}

// setBackend takes the value of --backend.
func (p *parser) setBackend(name string) error {
	o := &p.o
	o.BackendName, o.BackendSource = name, "--backend"
	switch {
	case p.program == "" && isProgram(name):
		o.Backend = Other
	case p.program != "" && name != p.program:
		return failure.Usage("invalid backend in --backend: '" + name + "' (this program is the backend " + p.program + ")")
	}
	return nil
}

// isProgram reports whether a backend of this name can only be a program.
func isProgram(name string) bool {
	_, known := backends[name]
	return !known && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// check refuses options that cannot be combined, and chooses the backend.
func (p *parser) check() error {
	o := &p.o
	switch {
	case o.NoFork && o.Close:
		return failure.Usage("the --no-fork and --close options are incompatible")
	case o.Permits > 0 && o.Op == locks.Shared:
		return failure.Usage("--permits cannot be combined with --shared")
	case o.Cooldown > 0 && (o.Permits > 0 || o.Op == locks.Shared):
		// Two holders could read the time at once, and then both set it.
		return failure.Usage("--cooldown cannot be combined with --shared or --permits")
	case o.Permits > 0 && p.fcntl:
		return failure.Usage("--permits cannot be combined with --fcntl, --start or --length")
	case (o.Queued || o.Reports) && o.Op == locks.Unlock:
		return failure.Usage("--queue and --report cannot be combined with --unlock")
	}
	if o.Limited && o.Timeout == 0 || o.Queued && o.Queue == 0 {
		o.Nonblock, o.Limited = true, false
	}
	if o.BackendName == "" {
		o.BackendName, _ = p.getenv("FLOCK_BACKEND")
		o.BackendSource = "FLOCK_BACKEND"
	}
	known := false
	if o.Backend, known = backends[o.BackendName]; !known {
		if !isProgram(o.BackendName) {
			return o.InvalidBackend("")
		}
		o.Backend = Other
	}
	if p.fcntl && (o.Backend == ByFlock || o.Backend == Directory || o.Backend == Other) {
		return failure.Usage("--fcntl, --start and --length cannot be combined with the backend " + o.BackendName)
	}
	if p.fcntl {
		o.Backend = ByFcntl
	}
	if o.Queued && o.Backend == ByFcntl {
		return failure.Usage("--queue cannot be combined with --fcntl, --start, --length or the backend fcntl: " +
			"such a lock covers the bytes that stand for those who wait")
	}
	o.Queued = o.Queued && !o.Nonblock
	return nil
}

// parseOperands reads what follows the options: the lock file or a descriptor number, and the command.
func (p *parser) parseOperands(words []string, shell func(string) []string) error {
	o := &p.o
	if o.Action == Holders || o.Action == Break {
		return p.parseHoldersOperand(words)
	}
	hasFile := false
	if p.shellOption == "" && !p.fdOption && len(words) > 0 {
		if len(words) == 1 {
			fd, err := parseDescriptor(words[0])
			switch {
			case err != nil && p.program != "":
				return failure.Usage("missing command")
			case err != nil:
				return err
			}
			o.FD = fd
		} else {
			o.File, hasFile = words[0], true
		}
		words = words[1:]
	}
	shellOption := p.shellOption
	if hasFile && (words[0] == "-c" || words[0] == "--command") {
		shellOption, words = words[0], words[1:]
	}
	if shellOption != "" {
		if len(words) != 1 {
			err := failure.Usage(shellOption + " requires exactly one command argument")
			if !hasFile && !p.fdOption {
				err.Hint = shellOption + " goes after the file: flock <file> " + shellOption + " <command>"
			}
			return err
		}
		words = shell(words[0])
	}
	switch {
	case p.fdOption && len(words) == 0:
		return failure.Usage("missing command")
	case !hasFile && o.FD < 0:
		return failure.Usage("missing file descriptor, file or directory")
	}
	o.Command = words
	return nil
}

// parseHoldersOperand reads the operand of --holders: a file or directory, or a descriptor number.
func (p *parser) parseHoldersOperand(words []string) error {
	if (p.fdOption || p.program != "" && p.o.Action == Holders) && len(words) == 0 && p.shellOption == "" {
		return nil // without a number or name, the program lists all its locks
	}
	if p.fdOption || len(words) != 1 || p.shellOption != "" {
		if p.program != "" {
			return failure.Usage("--holders and --break take one name")
		}
		return failure.Usage("--holders takes one file, directory or descriptor number")
	}
	fd, err := parseDescriptor(words[0])
	if err == nil && fd >= 0 {
		p.o.FD = fd
	} else {
		p.o.File = words[0]
	}
	return nil
}

// checkRemove refuses what --remove cannot be combined with: it is for a lock on a whole file around a command.
func (p *parser) checkRemove() error {
	o := &p.o
	with := ""
	switch {
	case !o.Remove:
		return nil
	case o.Action == Holders:
		with = "--holders, which locks nothing"
	case o.FD >= 0:
		with = "a descriptor: it needs the file and a command"
	case o.Op == locks.Unlock:
		with = "--unlock: a lock is needed to remove the file"
	case o.NoFork:
		with = "--no-fork: nobody would be left to remove the file"
	case o.Queued:
		with = "--queue, whose places are in the file"
	case o.Cooldown > 0:
		with = "--cooldown, whose end is kept in the file"
	case p.ranged:
		with = "--start or --length: others may use the rest of the file"
	default:
		return nil
	}
	return failure.Usage("--remove cannot be combined with " + with)
}

// checkSystem refuses options that this system does not support.
func (p *parser) checkSystem() error {
	o := &p.o
	if o.Queued && !locks.HasPlaces && (o.Backend == Native || o.Backend == ByFlock) {
		return failure.Usage("on this system --queue needs the backend auto or directory")
	}
	if locks.HasKernelLocks || o.Backend == Other {
		return nil // if a kind of lock is missing, its lock call reports that
	}
	switch {
	case p.fcntl:
		return failure.Usage("--fcntl, --start and --length are for native locks, which this system does not have")
	case o.Backend != Auto && o.Backend != Directory:
		return failure.Usage("this system has no native locks: the backend can only be auto or directory")
	case o.FD >= 0:
		return failure.Usage("a descriptor number cannot be locked: this system does not tell " +
			"when its process is done with it; give a file and a command")
	}
	return nil
}
