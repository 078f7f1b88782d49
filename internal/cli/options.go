// Package cli reads the command line of flock: argv becomes Options, which are checked and do not change afterwards.
// Every error is a *failure.Error.
package cli

import (
	"os"
	"strings"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// Options is the command line, checked.
type Options struct {
	Action Action
	Own    string // the long name of the option of Action Own

	locks.Config // what the mechanisms need to know; for a Backend Other only Permits and Queue are set

	Op           locks.Op
	Nonblock     bool
	HasTimeout   bool          // of the wait for the lock
	Timeout      time.Duration // from the start of the process
	ConflictExit int           // exit status when another process holds the lock

	File    string   // the lock file or directory, if FD is negative
	FD      int      // descriptor number; negative with a file
	Command []string // nil with a descriptor number alone
	ByShell bool     // the command is the shell of -c

	Close   bool
	NoFork  bool
	Verbose bool
	Backend Backend

	BackendName   string // as it was given; empty if it was not
	BackendSource string // --backend or FLOCK_BACKEND

	Limit        time.Duration // how long the command may run; 0: not given
	KillChildren bool          // end what the command leaves behind

	Cooldown     time.Duration // 0: not given
	CooldownFrom CooldownFrom
	Remove       bool // remove the lock file afterwards
	Replace      bool // end the run with this option that has the lock, and let none wait

	Queued      bool          // wait only if fewer than Config.Queue wait already
	Reports     bool          // say who has the lock
	ReportAfter time.Duration // of waiting, for the first time; see NextReport
}

// NextReport returns the pause before the report that follows one after the given pause. A log shows that a long wait
// still lasts, and does not fill up with it.
func (o *Options) NextReport(pause time.Duration) time.Duration {
	const longest = 5 * time.Minute
	switch {
	case pause == 0:
		return 30 * time.Second
	case pause < longest:
		return min(2*pause, longest)
	}
	return max(o.ReportAfter, longest)
}

// HasGuard reports whether the command has a guard, which ends it.
func (o *Options) HasGuard() bool { return o.Limit > 0 || o.KillChildren || o.Replace }

// CooldownFrom is what a cooldown is counted from. That from the end also begins when the lock is taken, in case of a
// crash.
type CooldownFrom uint8

const (
	FromEnd     CooldownFrom = iota // of the command
	FromStart                       // when the lock is taken
	FromSuccess                     // from the end of the command, if that has succeeded
)

var moments = map[string]CooldownFrom{"end": FromEnd, "start": FromStart, "success": FromSuccess}

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
	Auto      Backend = iota // Flock, else Fcntl, else Directory
	Native                   // Flock, else Fcntl
	Flock                    // flock(2)
	Fcntl                    // open file description locks of fcntl(2)
	Directory                // package fallback
	Other                    // a program of its own, flock-BackendName
)

var backends = map[string]Backend{
	"": Auto, "auto": Auto, "native": Native, "flock": Flock, "fcntl": Fcntl, "directory": Directory,
}

// InvalidBackend returns the error for a backend that flock does not know. why ends the sentence in brackets; it may be
// empty.
func (o *Options) InvalidBackend(why string) *failure.Error {
	return failure.Usage("invalid backend in " + o.BackendSource + ": '" + o.BackendName +
		"' (auto, native, flock, fcntl or directory" + why + ")")
}

// Args returns the words that this process was started with; the first is its name. Before Linux 5.18 a caller of
// execve(2) can pass none at all: then the name is empty.
func Args() []string { return named(os.Args) }

func named(args []string) []string {
	if len(args) == 0 {
		return []string{""}
	}
	return args
}

// Parse reads args; the first of them is the program. getenv looks up FLOCK_BACKEND and FLOCK_DIR. shell returns the
// command for the text of -c.
//
// For --backend NAME with the name of a program, Backend is Other and nothing after it is read: that is for the
// program, which may have options of its own.
func Parse(args []string, getenv func(string) (string, bool), shell func(text string) []string) (*Options, error) {
	p := flockParser(shell)
	words, err := p.read(args)
	if err != nil || p.isAnswered() {
		return &p.o, err
	}
	if err := p.checkOptions(); err != nil {
		return nil, err
	}
	if err := p.chooseBackend(getenv); err != nil || p.o.Backend == Other {
		return &p.o, err
	}
	p.setMechanisms(getenv)
	parse := p.parseOperands
	if p.o.Action == Holders {
		parse = p.parseHolders
	}
	if err := parse(words); err != nil {
		return nil, err
	}
	if err := p.checkAction(); err != nil {
		return nil, err
	}
	return &p.o, p.checkSystem()
}

// IsForProgram reports whether a backend of this name can only be a program.
func IsForProgram(name string) bool {
	_, known := backends[name]
	return !known && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// backendOf returns the backend of a name, and whether there can be one.
func backendOf(name string) (b Backend, isValid bool) {
	if IsForProgram(name) {
		return Other, true
	}
	b, isValid = backends[name]
	return b, isValid
}

// derive sets what follows from the options: -w 0 and --queue 0 mean -n, with which nobody waits in a queue.
func (p *parser) derive() {
	o := &p.o
	o.HasTimeout, o.Queued, o.Reports = p.isGiven("timeout", "wait"), p.isGiven("queue"), p.isGiven("report")
	if o.HasTimeout && o.Timeout == 0 || o.Queued && o.Queue == 0 {
		o.Nonblock, o.HasTimeout = true, false
	}
	o.Queued = o.Queued && !o.Nonblock
	if !o.Queued {
		o.Queue = 0
	}
}

// setMechanisms sets which mechanisms may serve.
func (p *parser) setMechanisms(getenv func(string) (string, bool)) {
	o, b := &p.o, p.o.Backend
	o.Flock = b == Auto || b == Native || b == Flock
	o.Fcntl = (b == Auto || b == Native || b == Fcntl) && !o.Replace // it would cover the bytes of tickets
	o.Directory = (b == Auto || b == Directory) && !o.Replace        // it has no tickets
	o.StateBase, _ = getenv("FLOCK_DIR")
}

// isFcntl reports whether an option asks for locks of fcntl(2).
func (p *parser) isFcntl() bool { return p.isGiven("fcntl", "start", "length") }

// setBackend takes the value of --backend.
func (p *parser) setBackend(name string) error {
	p.o.BackendName, p.o.BackendSource = name, "--backend"
	p.o.Backend, _ = backendOf(name) // chooseBackend refuses an invalid one
	return nil
}

// chooseBackend chooses the backend by the option and the variable, and refuses options that it does not have.
func (p *parser) chooseBackend(getenv func(string) (string, bool)) error {
	o := &p.o
	if o.BackendName == "" {
		o.BackendName, _ = getenv("FLOCK_BACKEND")
		o.BackendSource = "FLOCK_BACKEND"
	}
	var isValid bool
	if o.Backend, isValid = backendOf(o.BackendName); !isValid {
		return o.InvalidBackend("")
	}
	if p.isFcntl() {
		switch o.Backend {
		case Flock, Directory, Other:
			return failure.Usage("--fcntl, --start and --length cannot be combined with the backend " + o.BackendName)
		}
		o.Backend = Fcntl
	}
	if p.isGiven("queue") && o.Backend == Fcntl {
		return failure.Usage("--queue cannot be combined with --fcntl, --start, --length or the backend fcntl: " +
			"such a lock covers the bytes that stand for waiters")
	}
	return nil
}

const missingLock = "missing file descriptor, file or directory"

// parseOperands reads what follows the options: a file and a command, or a descriptor number; after --fd a command.
func (p *parser) parseOperands(words []string) error {
	switch {
	case p.isGiven("fd"):
		return p.parseAfterDescriptor(words)
	case p.shellOption != "" && len(words) != 1:
		return withHint(needsOneArgument(p.shellOption), p.hintShell(p.shellOption))
	case p.shellOption != "":
		return withHint(failure.Usage(missingLock), p.hintShell(p.shellOption))
	case len(words) == 0:
		return failure.Usage(missingLock)
	case len(words) == 1:
		return p.parseNumber(words[0])
	}
	p.o.File = words[0]
	if isShellOption(words[1]) {
		return p.parseShell(words[1], words[2:])
	}
	p.o.Command = words[1:]
	return nil
}

// parseNumber reads the number of a descriptor, which stands alone.
func (p *parser) parseNumber(word string) (err error) {
	o := &p.o
	if o.FD, err = parseDescriptor(word); err != nil {
		return withHint(err, o.descriptorHint(word))
	}
	if o.FD < 0 {
		return failure.Usage(missingLock)
	}
	return nil
}

// parseAfterDescriptor reads the command after --fd, which comes after -c, too.
func (p *parser) parseAfterDescriptor(words []string) error {
	p.o.Command = words
	if p.shellOption != "" {
		if err := p.parseShell(p.shellOption, words); err != nil {
			return err
		}
	}
	missing := ""
	switch {
	case len(p.o.Command) == 0:
		missing = "missing command"
	case p.o.FD < 0:
		missing = missingLock
	default:
		return nil
	}
	err := failure.Usage(missing)
	if p.o.FD < 0 {
		err.Hint = "a descriptor number is 0 or more"
	}
	return err
}

// parseShell reads the string of -c, which option is as the user wrote it.
func (p *parser) parseShell(option string, words []string) error {
	if len(words) != 1 {
		return withHint(needsOneArgument(option), quotesHint(option, words))
	}
	p.o.Command, p.o.ByShell = p.shell(words[0]), true
	return nil
}

func needsOneArgument(shellOption string) error {
	return failure.Usage(shellOption + " requires exactly one command argument")
}

// parseHolders reads the operand of --holders: a file or directory, or a descriptor number.
func (p *parser) parseHolders(words []string) error {
	if p.isGiven("fd") && len(words) == 0 && p.shellOption == "" {
		return nil
	}
	if p.isGiven("fd") || len(words) != 1 || p.shellOption != "" {
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

// checkSystem refuses options that this system does not support.
func (p *parser) checkSystem() error {
	o := &p.o
	if o.Queued && !locks.HasPlaces && (o.Backend == Native || o.Backend == Flock) {
		return failure.Usage("on this system --queue needs the backend auto or directory")
	}
	if o.Replace && !locks.HasPlaces {
		return failure.Usage("--replace is for Linux: this system does not tell which run is the newest")
	}
	if locks.HasKernelLocks {
		return p.checkKinds()
	}
	switch {
	case o.HasGuard():
		return failure.Usage("--limit and --kill-children are not supported on this system: " +
			"it cannot terminate a command and its descendants")
	case p.isFcntl():
		return failure.Usage("--fcntl, --start and --length are for native locks, which this system does not have")
	case o.Backend != Auto && o.Backend != Directory:
		return failure.Usage("this system has no native locks: the backend can only be auto or directory")
	case o.FD >= 0:
		err := failure.Usage("a descriptor number cannot be locked: this system does not show when its process closes it")
		err.Hint = "give a file and a command"
		return err
	}
	return nil
}

// checkKinds refuses kinds of kernel locks that this system does not have. If a filesystem has none, the lock call
// reports that.
func (p *parser) checkKinds() error {
	o := &p.o
	isNative := o.Backend == Native || o.Backend == Flock || o.Backend == Fcntl
	switch {
	case o.Permits > 0 && isNative && !locks.HasRanges:
		return failure.Usage("on this system --permits needs the backend auto or directory")
	case p.isGiven("start", "length") && !locks.HasRanges:
		return failure.Usage("--start and --length are not supported on this system: its locks are of whole files")
	case o.Backend == Fcntl && !locks.HasByteLocks:
		err := failure.Usage("this system has no open file description locks, which --fcntl and the backend fcntl need")
		err.Hint = "use the backend auto or, for all who use the file, --backend directory"
		return err
	}
	return nil
}
