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
	Own                   // of a backend's program, which knows the option: Options.Own; it and what follows read no more
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
	p := newParser("", nil, args, shell)
	return p.parse(p.checkOptions, func() error { return p.chooseBackend(getenv) }, p.parseOperands, p.checkAction,
		p.checkSystem)
}

// ParseFor reads args for the program of a backend, which is to refuse descriptor numbers. Backend is Other. The
// program has --break and, by their long names, options of its own besides, each of which is an Action. It refuses the
// options that are about files.
func ParseFor(backend string, args, own []string, shell func(text string) []string) (*Options, error) {
	p := newParser(backend, own, args, shell)
	o, err := p.parse(p.checkOptions, p.parseOperands, p.checkAction)
	o.Backend, o.BackendName = Other, backend
	return o, err
}

// parse reads the options, and takes the steps until one fails, or until nothing else counts.
func (p *parser) parse(steps ...func() error) (*Options, error) {
	err := p.read()
	for i := 0; i < len(steps) && err == nil && !p.isAnswered(); i++ {
		err = steps[i]()
	}
	return &p.o, err
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

// isFcntl reports whether an option asks for locks of fcntl(2).
func (p *parser) isFcntl() bool { return p.isGiven("fcntl", "start", "length") }

// setBackend takes the value of --backend.
func (p *parser) setBackend(name string) error {
	if p.program == "" {
		p.o.BackendName, p.o.BackendSource = name, "--backend"
		p.o.Backend, _ = backendOf(name) // chooseBackend refuses an invalid one
	} else if name != p.program {
		return failure.Usage("invalid backend in --backend: '" + name +
			"' (this program is the backend " + p.program + ")")
	}
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
	b := o.Backend
	o.Flock = b == Auto || b == Native || b == Flock
	o.Fcntl = (b == Auto || b == Native || b == Fcntl) && !o.Replace // it would cover the bytes of tickets
	o.Directory = (b == Auto || b == Directory) && !o.Replace        // it has no tickets
	o.StateBase, _ = getenv("FLOCK_DIR")
	return nil
}

// parseOperands reads what follows the options: a file and a command, or a descriptor number; after --fd a command.
func (p *parser) parseOperands() error {
	o, words := &p.o, p.set.Args()
	hasC, missing := p.shellOption != "", missingLock
	if p.program != "" {
		missing = "missing name of a lock, and command"
	}
	switch {
	case o.Action != Lock:
		return p.parseTarget(words)
	case p.isGiven("fd"):
		return p.parseAfterDescriptor(words)
	case len(words) == 0 && !(hasC && p.program == ""):
		return failure.Usage(missing)
	case hasC && len(words) != 1:
		return withHint(needsOneArgument(p.shellOption), p.hintShell())
	case hasC:
		return withHint(failure.Usage(missing), p.hintShell())
	case len(words) == 1:
		return p.parseNumber(words[0])
	}
	o.File = words[0]
	if isShellOption(words[1]) {
		return p.parseCommand(words[1], words[2:])
	}
	return p.parseCommand("", words[1:])
}

const missingLock = "missing file descriptor, file or directory"

// parseNumber reads the number of a descriptor, which stands alone.
func (p *parser) parseNumber(word string) (err error) {
	o := &p.o
	o.FD, err = parseDescriptor(word)
	switch {
	case err != nil && p.program != "":
		return failure.Usage("missing command")
	case err != nil:
		return withHint(err, o.descriptorHint(word))
	case o.FD < 0:
		return failure.Usage(missingLock)
	}
	return nil
}

// parseAfterDescriptor reads the command after --fd, which comes after -c, too.
func (p *parser) parseAfterDescriptor(words []string) error {
	err := p.parseCommand(p.shellOption, words)
	isNegative := p.o.FD < 0
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		err = failure.Usage("missing command")
	case isNegative:
		err = failure.Usage(missingLock)
	}
	if isNegative {
		err = withHint(err, "a descriptor number is 0 or more")
	}
	return err
}

// parseCommand reads the command, or the string of -c, which option is as the user wrote it.
func (p *parser) parseCommand(option string, words []string) error {
	p.o.Command, p.o.ByShell = words, option != ""
	switch {
	case option == "":
		return nil
	case len(words) != 1:
		return withHint(needsOneArgument(option), quotesHint(option, words))
	}
	p.o.Command = p.shell(words[0])
	return nil
}

func needsOneArgument(shellOption string) error {
	return failure.Usage(shellOption + " requires exactly one command argument")
}

// parseTarget reads the operand of --holders and --break: a file or directory, a descriptor number or the name of a lock.
// Holders of all locks are those without a name.
func (p *parser) parseTarget(words []string) error {
	o, isFlock := &p.o, p.program == ""
	needsNone := p.isGiven("fd") || !isFlock && o.Action == Holders && len(words) == 0
	switch {
	case p.shellOption == "" && needsNone && len(words) == 0:
		return nil
	case p.shellOption != "" || needsNone || len(words) != 1:
		if isFlock {
			return failure.Usage("--holders takes one file, directory or descriptor number")
		}
		return failure.Usage("--holders and --break take one name")
	}
	o.File = words[0] // also one of digits, for a program: no descriptor has such a lock
	if fd, err := parseDescriptor(words[0]); isFlock && err == nil && fd >= 0 {
		o.File, o.FD = "", fd
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
