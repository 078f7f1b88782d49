package locks

import (
	"errors"

	"example.org/flock/internal/lockfile"
)

// A Mechanism is a way to lock a file. Its errors are refusals, for which IsRefusal holds; an *Unsupported; and those
// of package failure.
type Mechanism interface {
	// Lock takes the lock within the timeout, or converts the one that the open file has.
	Lock(op Op, timeout Timeout) error
	// Unlock releases what Lock has taken, or else what the open file has from before.
	Unlock() error
}

// An owned lock belongs to processes rather than to the open file. So the command must be given it when it starts, and
// when the command has ended somebody must see whether it is still held.
type owned interface {
	// Inherit lets the command have the lock, too.
	Inherit() error
	// Lifeline returns the descriptor that the command inherits besides the lock file; -1: there is none.
	Lifeline() int
	// Started is called when the command has started.
	Started()
	// Leave gives up the lock when the command has ended. A child of the command that has inherited it keeps it.
	Leave()
	// Discard is Unlock for a file that was removed: it removes what the mechanism keeps in the filesystem, too.
	Discard() error
}

// A numbered lock is one of several permits.
type numbered interface {
	// PermitNumber returns the number of the permit that Lock has taken, from 1 on. While it is held no other holder of
	// the file has the same number.
	PermitNumber() int
}

// PermitVariable is set in the environment of a command that has a permit, to its number.
const PermitVariable = "FLOCK_PERMIT"

// Unsupported is the answer of a lock call that the system or the filesystem has no such locks: the next mechanism
// serves. It is made from nothing but the bare answer of a lock call, and only from one that every contender gets,
// because all contenders must come to the same choice: otherwise two of them would get in, by two mechanisms.
type Unsupported struct{ Err error }

func (u *Unsupported) Error() string { return u.Err.Error() }
func (u *Unsupported) Unwrap() error { return u.Err }

// A Chain locks a file by the first of some mechanisms that is supported, and stays with that.
type Chain struct {
	mechanisms []Mechanism // the first one serves, unless a later call finds it unsupported
	serves     bool        // a call has found that so
	first      error       // what the first one of all has answered, if it is unsupported
}

// A Config says which mechanisms may serve, and what a user wants of them.
type Config struct {
	Flock     bool   // flock(2)
	Fcntl     bool   // an open file description lock, where there is no flock(2) or that is not wanted
	Range     Range  // of the open file description lock
	Directory bool   // the directory lock, where there is none of the kernel or that is not wanted
	StateBase string // where the directory lock keeps its state, as FLOCK_DIR has it; empty: beside the file

	Permits int // instead of the whole lock one of so many permits; 0: the whole lock
	Queue   int // how many may wait for the lock; 0: any number

	Warn        func(text string) // says a line to the user
	WarnVerbose func(text string) // says it to one who wants to know what happens
}

// New returns the lock on a file.
//
// A command that flock runs with the directory lock has the lifeline of that under the number of the lock file. So the
// descriptor that such a command gives to flock is no lock file: it is the lock. flock(2) would lock the lifeline, and
// exclude nobody.
func New(f *lockfile.File, config Config) *Chain {
	if inherited := inheritedDirectory(f, config); inherited != nil {
		return Of(inherited)
	}
	mechanisms := kernelMechanisms(f, config)
	if config.Directory {
		mechanisms = append(mechanisms, directoryMechanism(f, config))
	}
	return Of(mechanisms...)
}

// Of returns the lock by the first of some mechanisms that is supported.
func Of(mechanisms ...Mechanism) *Chain { return &Chain{mechanisms: mechanisms} }

// Lock takes the lock within the timeout, or converts the one that the open file has.
func (c *Chain) Lock(op Op, timeout Timeout) error {
	return c.use(func(m Mechanism) error { return m.Lock(op, timeout) })
}

// Unlock releases what Lock has taken, or else what the open file has from before.
func (c *Chain) Unlock() error { return c.use(Mechanism.Unlock) }

// errNoMechanism is the error of a configuration that no mechanism serves. The checks of the options leave none such.
var errNoMechanism = errors.New("no way to lock was chosen")

// use calls a mechanism, and the next one if that is unsupported. If all are, the error is that of the first one.
func (c *Chain) use(call func(Mechanism) error) error {
	if len(c.mechanisms) == 0 {
		return errNoMechanism
	}
	for i, m := range c.mechanisms {
		err := call(m)
		var unsupported *Unsupported
		if !errors.As(err, &unsupported) {
			c.mechanisms, c.serves = c.mechanisms[i:], true
			return err
		}
		if c.first == nil {
			c.first = unsupported.Err
		}
	}
	return c.first
}

// Inherit lets the command, which is about to start, have the lock, too.
func (c *Chain) Inherit() error {
	if lock, ok := c.mechanisms[0].(owned); ok {
		return lock.Inherit()
	}
	return nil
}

// Lifeline returns the descriptor by which the command has the lock, where that is not the one of the lock file; -1:
// there is none.
func (c *Chain) Lifeline() int {
	if lock, ok := c.mechanisms[0].(owned); ok {
		return lock.Lifeline()
	}
	return -1
}

// PermitNumber returns the number of the permit that Lock has taken, from 1 on.
func (c *Chain) PermitNumber() int { return c.mechanisms[0].(numbered).PermitNumber() }

// Started is to be called when the command has started.
func (c *Chain) Started() {
	if lock, ok := c.mechanisms[0].(owned); ok {
		lock.Started()
	}
}

// Leave gives up the lock when the command has ended, unless somebody else has it by the same open file or by
// inheritance.
func (c *Chain) Leave() {
	if lock, ok := c.mechanisms[0].(owned); ok {
		lock.Leave()
	}
}

// A Rest is what is left of a lock when this process has let it go.
type Rest int

const (
	Unknown Rest = iota // it has not let go: the kernel cannot be asked
	Free
	Taken // somebody has inherited the lock, or the next one has taken it
)

// LetGo releases the lock if the kernel tells afterwards whether somebody has inherited it. Another open file then has
// the number of the lock file.
func (c *Chain) LetGo() Rest {
	if lock, ok := c.mechanisms[0].(interface{ letGo() Rest }); ok {
		return lock.letGo()
	}
	return Unknown
}

// Discard is Unlock for a file that was removed.
func (c *Chain) Discard() error {
	if lock, ok := c.mechanisms[0].(owned); ok {
		return lock.Discard()
	}
	return c.Unlock()
}

// Narrow takes the mechanisms out of a configuration that do not serve, if a call has found the one that does.
func (c *Chain) Narrow(config Config) Config {
	if !c.serves {
		return config
	}
	_, isFlock := c.mechanisms[0].(interface{ letGo() Rest })
	_, isPermit := c.mechanisms[0].(numbered) // a lock of both kinds
	isDirectory := c.IsOnName()
	config.Flock = config.Flock && !isDirectory && (isFlock || isPermit)
	config.Fcntl = config.Fcntl && !isDirectory && !isFlock
	config.Directory = isDirectory
	return config
}

// IsOnName reports whether the lock is on the name of the file: then a contender that makes the file anew finds it.
func (c *Chain) IsOnName() bool {
	_, ok := c.mechanisms[0].(owned)
	return ok
}
