package main

import (
	"example.org/flock/internal/cli"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
)

// There are three mechanisms: a lock of the kernel, a permit of the kernel, and the directory lock, which is in dirlock.go.
// Around them are the policies, in policies.go. So a lock is taken in three steps: acquire puts the policies in their order,
// lock chooses the mechanism, and the mechanism locks.

// An attempt is a run's try to lock: what the user asked for, on which open file, and how.
type attempt struct {
	*cli.Options
	out        *output.Printer
	file       *lockfile.File
	mechanisms []mechanism // the first one serves; each other one is for where there are no locks of the one before it
}

// A mechanism is a way to lock the file.
type mechanism interface {
	// lock takes the lock within the limit. The error is that of a kernlock.Limit if another process holds the lock. unsupported
	// says that the system or the filesystem has no such locks; then every contender gets this answer.
	lock(limit kernlock.Limit) (l heldLock, unsupported bool, err error)
	// unlock releases what the descriptor has.
	unlock() (unsupported bool, err error)
}

// A heldLock is a lock that is held.
type heldLock interface {
	// Unlock releases the lock.
	Unlock() error
	// Inherit lets the command have the lock, too.
	Inherit() error
	// Leave gives up the lock when the command has ended. Somebody else who has the same open file keeps it.
	Leave()
}

func newAttempt(o *cli.Options, out *output.Printer, f *lockfile.File) *attempt {
	a := &attempt{Options: o, out: out, file: f}
	switch {
	case o.Backend == cli.Directory:
	case o.Permits > 0:
		a.mechanisms = append(a.mechanisms, permit{a})
	default:
		a.mechanisms = append(a.mechanisms, &kernel{attempt: a})
	}
	if o.Backend == cli.Directory || o.Backend == cli.Auto {
		a.mechanisms = append(a.mechanisms, &directory{attempt: a})
	}
	return a
}

// A locker takes the lock within a limit.
type locker func(kernlock.Limit) (heldLock, error)

// acquire does what the user asked for. The policies are here from the inside out. --queue and --report are for one wait,
// in which the others may lock several times.
func (a *attempt) acquire(limit kernlock.Limit) (heldLock, error) {
	if a.Op == kernlock.Unlock {
		return unlocked{}, a.unlock()
	}
	take := a.lock
	if a.Remove {
		take = a.whileNamed(take)
	}
	if a.Cooldown > 0 {
		take = a.afterCooldown(take)
	}
	if a.Queued || a.Reports {
		take = a.inQueue(take)
	}
	return take(limit)
}

// lock takes the lock by the first mechanism that the system and the filesystem have. It stays with that.
//
// All contenders must come to the same choice. So only an answer of the lock call itself counts, and only one that every
// contender gets.
func (a *attempt) lock(limit kernlock.Limit) (heldLock, error) {
	for {
		l, unsupported, err := a.mechanisms[0].lock(limit)
		if !unsupported || len(a.mechanisms) == 1 {
			return l, err
		}
		a.mechanisms = a.mechanisms[1:]
	}
}

// unlock releases the lock of the descriptor.
func (a *attempt) unlock() error {
	if a.Cooldown > 0 {
		if err := a.startCooldown(); err != nil {
			return err
		}
	}
	for {
		unsupported, err := a.mechanisms[0].unlock()
		if !unsupported || len(a.mechanisms) == 1 {
			return err
		}
		a.mechanisms = a.mechanisms[1:]
	}
}

// unlocked is the heldLock of a run that has unlocked.
type unlocked struct{}

func (unlocked) Unlock() error  { return nil }
func (unlocked) Inherit() error { return nil }
func (unlocked) Leave()         {}

// A kernelLock is a lock or a permit of the kernel on the open file of a descriptor. The function releases it.
type kernelLock func() error

func (release kernelLock) Unlock() error { return release() }
func (kernelLock) Inherit() error        { return nil }
func (kernelLock) Leave()                {} // the last one closes the open file

// kernel is a lock of the kernel: flock(2) or, where that does not exist, an open file description lock.
type kernel struct {
	*attempt
	noFlock error // the answer of a kernel or a filesystem without flock(2)
}

func (k *kernel) lock(limit kernlock.Limit) (l heldLock, unsupported bool, err error) {
	call, unsupported, err := k.call(k.Op, limit)
	release := kernelLock(func() error { return call(k.file.FD, kernlock.Unlock, false) })
	if k.Queued && k.noFlock != nil && !unsupported { // the lock covers the bytes that stand for places
		release.Unlock()
		return nil, false, queueError(k.file.Name, k.noFlock)
	}
	return release, unsupported, err
}

func (k *kernel) unlock() (unsupported bool, err error) {
	_, unsupported, err = k.call(kernlock.Unlock, kernlock.Forever)
	return unsupported, err
}

// call locks or unlocks with the lock call that the system and the filesystem have, and returns that.
func (k *kernel) call(op kernlock.Op, limit kernlock.Limit) (call kernlock.Call, unsupported bool, err error) {
	isFirst := k.noFlock == nil
	if k.Backend != cli.ByFcntl && isFirst {
		err = k.callOpening(kernlock.Flock, op, limit)
		unsupported = kernlock.IsUnsupported(err)
		if k.Backend == cli.ByFlock || !unsupported {
			return kernlock.Flock, unsupported, k.lockError(err)
		}
		k.noFlock = err
	}
	call = kernlock.Record(k.Range)
	err = k.callOpening(call, op, limit)
	unsupported = kernlock.IsRecordUnsupported(err)
	switch {
	case k.noFlock == nil:
	case unsupported, err != nil && k.file.IsDirectory(): // which cannot be opened for writing
		err = k.noFlock
	case isFirst:
		k.out.WarnVerbose("using fcntl(2) locks")
	}
	return call, unsupported, k.lockError(err)
}

// callOpening makes a lock call. If that may help, it makes the call again with the file open for writing.
func (k *kernel) callOpening(call kernlock.Call, op kernlock.Op, limit kernlock.Limit) error {
	err := kernlock.Acquire(call, k.file.FD, op, limit)
	if op == kernlock.Exclusive && k.file.CanReopen() && kernlock.NeedsWriting(err) {
		if err := k.file.CheckWritable(); err != nil {
			return failure.New(output.ExDataErr, k.file.Name, err)
		}
		if err := k.file.ReopenForWriting(); err != nil {
			return failure.Opening(k.file.Name, err)
		}
		err = kernlock.Acquire(call, k.file.FD, op, limit)
	}
	return err
}

// lockError adds to the answer of a lock call which file it is about.
func (a *attempt) lockError(err error) error {
	switch {
	case !kernlock.IsAnswer(err):
		return err
	case a.Backend != cli.ByFcntl && kernlock.NeedsWriting(err) && !a.file.ByName && a.file.Network() == lockfile.NFS:
		failed := failure.New(output.ExDataErr, a.file.Name, err)
		failed.Hint = "on NFS the descriptor must be open for writing, for a shared lock for reading: use a separate lock file, " +
			"as 9>>FILE or 9<>FILE"
		return failed
	}
	return failure.New(output.ExDataErr, a.file.Name, err)
}

// permit is one of several permits of the kernel.
type permit struct{ *attempt }

func (p permit) lock(limit kernlock.Limit) (l heldLock, unsupported bool, err error) {
	// There the shared lock of one holder excludes the bytes of all others. Without it a plain lock does not always exclude
	// them: a client of NFS 4 that has the file to itself compares locks of one kind only, and on SMB single bytes let too
	// many in.
	if fs := p.file.Network(); fs == lockfile.SMB || fs == lockfile.NFS && p.Backend != cli.ByFcntl {
		return nil, false, failure.New(output.ExDataErr, p.file.Name, errPermitOnNetwork)
	}
	err = kernlock.LockPermit(p.file.FD, p.Permits, p.Backend == cli.ByFcntl || kernlock.CoversBytes, limit)
	release := kernelLock(func() error { return kernlock.UnlockPermit(p.file.FD) })
	return release, kernlock.IsRecordUnsupported(err), p.lockError(err)
}

func (p permit) unlock() (unsupported bool, err error) {
	err = kernlock.UnlockPermit(p.file.FD)
	return kernlock.IsRecordUnsupported(err), p.lockError(err)
}
