package locks

import (
	"cmp"
	"errors"

	"example.org/flock/internal/lockfile"
)

// A Mechanism is a way to lock a file. Its errors are refusals, for which IsRefusal holds; ErrInterrupted; an
// *Unsupported; and those of package failure.
type Mechanism interface {
	// Lock takes the lock within the timeout, or converts the one that the open file has.
	Lock(op Op, timeout Timeout) error
	// Unlock releases the lock that Lock has taken, or else the one that the open file already had.
	Unlock() error
	// Kind returns of what kind the lock is.
	Kind() Kind
}

// A Kind is a kind of lock, or several.
type Kind uint8

const (
	ByFlock     Kind = 1 << iota // flock(2)
	ByFcntl                      // an open file description lock
	ByDirectory                  // the directory lock, which is on the name of a file that was opened by name
	byHalf                       // it, and the shared lock of flock(2): see halfPermit
)

// PermitVariable is set in the environment of a command that has a permit, to its number.
const PermitVariable = "FLOCK_PERMIT"

// Unsupported says that the system or the filesystem has no such locks: the Chain then tries the next mechanism. Only
// the bare answer of a lock call makes one, and only an answer that every contender gets: all contenders must choose
// the same mechanism, otherwise two of them would get in, by two mechanisms.
type Unsupported struct{ Err error }

func (u *Unsupported) Error() string { return u.Err.Error() }
func (u *Unsupported) Unwrap() error { return u.Err }

// A Chain locks a file by the first of its mechanisms that is supported, and then keeps to that one.
type Chain struct {
	*hold                  // a directory lock's, which does nothing for a command if another mechanism serves
	mechanisms []Mechanism // all that a call tries: the one that serves, and those after it
	kind       Kind        // of the one that serves; 0 until a call has found it
	first      error       // what the first one of all has answered, if it is unsupported
}

// A Config says which mechanisms a Chain may use, and with which options.
type Config struct {
	Flock     bool   // flock(2)
	Fcntl     bool   // an open file description lock, where there is no flock(2) or that is not wanted
	Range     Range  // of the open file description lock
	Directory bool   // the directory lock, where there is no kernel lock or that is not wanted
	StateBase string // where the directory lock keeps its state, as FLOCK_DIR has it; empty: beside the file

	Permits int // instead of the whole lock one of so many permits; 0: the whole lock
	Queue   int // how many may wait for the lock; 0: any number

	Warn        func(text string) // says a line to the user
	WarnVerbose func(text string) // says a line if there is --verbose
}

// Access returns what the lock file must be open for.
func (c Config) Access(op Op) lockfile.Access {
	switch {
	case !c.Flock && !c.Fcntl: // the directory lock locks no byte
		return lockfile.Read
	case c.Permits > 0:
		return lockfile.ReadWrite
	case !c.Flock && op == Exclusive:
		return lockfile.Write // F_WRLCK needs a descriptor that is open for writing
	}
	return lockfile.Read
}

// New returns the lock on a file.
//
// A command that flock runs with the directory lock has the lifeline at the number of the lock file. So if such a
// command passes that number to flock, the descriptor is not the lock file: it is the lock. flock(2) would lock the
// lifeline, and exclude nobody.
func New(f *lockfile.File, config Config) *Chain {
	if outer(f) != nil {
		return Of(outerLock{file: f})
	}
	c := &Chain{hold: &hold{file: f, config: config}, mechanisms: kernelMechanisms(f, config)}
	if config.Directory {
		c.mechanisms = append(c.mechanisms, directoryMechanism(c.hold, config.Permits > 0 && config.Flock))
	}
	return c
}

// Of returns a Chain of these mechanisms, which have nothing to do for a command.
func Of(mechanisms ...Mechanism) *Chain {
	return &Chain{hold: &hold{}, mechanisms: mechanisms}
}

// ToRemove returns the lock under which f may be removed, another open file of the lock file that this chain has locked
// with whatever permits. config has none.
func (c *Chain) ToRemove(f *lockfile.File, config Config) *Chain {
	removal := New(f, config)
	if c.kind&byHalf != 0 {
		// Both locks: the state directory goes, too. With that of the directory alone the file would be taken from under
		// a plain lock, and the next one would get in beside it.
		removal.mechanisms = []Mechanism{directoryMechanism(removal.hold, true)}
	}
	return removal
}

// Lock takes the lock within the timeout, or converts the one that the open file has.
func (c *Chain) Lock(op Op, timeout Timeout) error {
	return c.use(func(m Mechanism) error { return m.Lock(op, timeout) })
}

// Unlock releases the lock that Lock has taken, or else the one that the open file already had.
func (c *Chain) Unlock() error { return c.use(Mechanism.Unlock) }

// LetGo releases a lock of flock(2): another open file gets the number of the lock file. It reports whether it has. Then
// the kernel can tell whether another process has inherited the lock.
func (c *Chain) LetGo() bool { return c.kind == ByFlock && c.file.SwapOpenFile() == nil }

// PermitNumber returns the number of the permit that Lock has taken, from 1 on. While it is held no other holder of the
// file has the same number.
func (c *Chain) PermitNumber() int {
	return c.mechanisms[0].(interface{ PermitNumber() int }).PermitNumber()
}

// errNoMechanism is the error of a configuration that no mechanism serves. The checks of the options leave none such.
var errNoMechanism = errors.New("no way to lock was chosen")

// use calls a mechanism, and the next one if that is unsupported. If all are, the error is that of the first one.
func (c *Chain) use(call func(Mechanism) error) error {
	for i, m := range c.mechanisms {
		err := call(m)
		var unsupported *Unsupported
		if !errors.As(err, &unsupported) {
			c.kind, c.mechanisms = m.Kind(), c.mechanisms[i:]
			return err
		}
		if c.first == nil {
			c.first = unsupported.Err
		}
	}
	return cmp.Or(c.first, errNoMechanism)
}

// Narrow returns a configuration without the mechanisms that do not serve, once a call has found the one that does.
func (c *Chain) Narrow(config Config) Config {
	if c.kind == 0 {
		return config
	}
	config.Flock = config.Flock && c.kind&ByFlock != 0
	config.Fcntl = config.Fcntl && c.kind&ByFcntl != 0
	config.Directory = c.kind&ByDirectory != 0 // even if it was not configured: New finds an inherited one
	return config
}

// IsOnName reports whether the lock is on the name of the file: then a contender that recreates the file finds it.
func (c *Chain) IsOnName() bool { return c.kind&ByDirectory != 0 }
