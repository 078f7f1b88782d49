package locks

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"example.org/flock/fallback"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

func init() { fallback.Command = command }

// command returns the command that asks for the directory lock on a file, or describes it.
func command(path, base string) string {
	switch {
	case path == "":
		return "a flock of this lock"
	case base != "":
		base = "FLOCK_DIR=" + quoted(base) + " "
	}
	return `"` + base + "flock --backend directory -n " + quoted(path) + ` true" (flock-go where it is not diverted)`
}

// quoted returns an absolute path as a word of a shell.
func quoted(path string) string {
	const special = " \t\n!\"#$&'()*;<>?[\\]^`{|}~"
	if !strings.ContainsAny(path, special) || filepath.Separator == '\\' && !strings.Contains(path, " ") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// A directory is the directory lock, which package fallback has. A file that flock opens by name is locked by a
// lifeline, which the command inherits as it inherits the file; the open file of a descriptor is locked itself.
type directory struct {
	*hold
	isTold bool // --verbose has named the state directory
}

// A hold is the directory lock of a Chain, if it has taken one, and what that means for the command.
type hold struct {
	file   *lockfile.File
	config Config
	held   *fallback.Lock // what Lock has taken; nil: nothing
}

// An outerLock is the lock of the flock that runs the command which calls this one, with its lifeline for a lock file.
// It is not changed from inside: that closing it releases it is all that is promised.
type outerLock struct{ file *lockfile.File }

// outer returns the lock whose lifeline a descriptor is; nil: it is none.
func outer(f *lockfile.File) *fallback.Lock {
	if f.ByName {
		return nil
	}
	lock, _ := fallback.Inherited(f.FD)
	return lock
}

func (l outerLock) Lock(Op, Timeout) error { return l.Unlock() }

func (l outerLock) Unlock() error {
	return &failure.Error{Status: failure.ExDataErr, Text: l.file.Name +
		": the outer flock has its lock by this descriptor, and only closing it gives that up: " + l.file.Name + ">&-"}
}

func (outerLock) Kind() Kind { return ByDirectory }

func (d *directory) Lock(op Op, timeout Timeout) error {
	lock, err := d.open()
	if err != nil {
		return d.explain(err)
	}
	r := fallback.Request{Mode: fallback.Exclusive, Permits: d.config.Permits, Try: !timeout.Waits()}
	switch {
	case d.config.Permits > 0:
		r.Mode = fallback.Permit
	case op == Shared:
		r.Mode = fallback.Shared
	}
	// A signal must not leave a record that others cannot judge.
	ctx := termination.Context()
	if deadline, ends := timeout.Deadline(); ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	err = lock.Acquire(ctx, r)
	var locked *fallback.LockedError
	switch {
	case err == nil:
		d.held = lock
		return nil
	case err == ctx.Err(): // which is nil without a signal, and err is not
		return ErrInterrupted
	case errors.As(err, &locked):
		return &Refusal{Err: timeout.Conflict(), Why: locked.Error()}
	}
	return d.explain(err)
}

func (d *directory) Unlock() error {
	switch {
	case d.held != nil:
		return d.explain(d.held.Unlock())
	case d.file.ByName:
		return nil // nobody has locked this open file
	}
	lock, err := d.open()
	if err == nil {
		err = lock.Unlock()
	}
	return d.explain(err)
}

func (d *directory) Kind() Kind { return ByDirectory }

func (d *directory) PermitNumber() int { return d.held.PermitNumber() }

// Inherit lets the command, which is about to start, inherit the lock.
func (d *hold) Inherit() error {
	if d.held == nil {
		return nil // it was never locked
	}
	fd, err := d.held.Inherit(d.file.FD)
	if err != nil {
		return failure.New(failure.ExOSErr, "cannot give the command the lock on "+d.file.Name, err)
	}
	d.file.FD = fd
	return nil
}

// Lifeline returns the descriptor by which the command has the lock, if that is not the lock file's; otherwise -1.
func (d *hold) Lifeline() int {
	if d.held == nil {
		return -1
	}
	return d.held.Lifeline()
}

// Started must be called when the command has started. It defers termination by a signal, so that flock can release the
// lock if the command dies of the same one.
func (d *hold) Started() {
	if d.held != nil && d.file.ByName {
		termination.Defer()
	}
}

// Leave releases the lock of a file that flock opened by name, when the command has ended, unless another process has
// inherited it. The lock of a descriptor stays with the caller. If the release fails, the next contender makes up for
// it.
func (d *hold) Leave() {
	if d.held != nil && d.file.ByName {
		d.held.Unlock()
	}
}

// Discard releases the lock of a file that was removed and is closed next, and removes the state directory.
func (d *hold) Discard() error {
	if d.held == nil {
		return nil
	}
	return d.explain(d.held.Discard())
}

// open returns the directory lock of the file.
func (d *directory) open() (*fallback.Lock, error) {
	if !d.file.ByName {
		// A pipe is refused because it is one, rather than because its name is not found.
		if err := fallback.CheckFile(d.file.FD); err != nil {
			return nil, err
		}
	}
	lock, dir, err := openDirectory(d.file, d.config.StateBase)
	if err != nil {
		return nil, err
	}
	if !d.isTold {
		d.isTold = true
		d.config.WarnVerbose("using the directory lock " + sys.Printable(dir))
	}
	lock.Waiting = d.warnVain
	return lock, nil
}

// warnVain warns that the wait for these holders may be in vain, where this process cannot tell whether they still
// hold.
func (d *directory) warnVain(held *fallback.LockedError) {
	for _, h := range held.Holders {
		if h.Unreachable || h.Mode == fallback.Busy {
			d.config.Warn("waiting: " + held.Names())
			return
		}
	}
}

func (d *hold) explain(err error) error {
	return DirectoryError(d.file, d.config.StateBase, err)
}

// A NoStateDir says why a file has no state directory, or none that this process can find.
type NoStateDir struct{ Err error }

func (n *NoStateDir) Error() string { return n.Err.Error() }
func (n *NoStateDir) Unwrap() error { return n.Err }

// DirectoryHolders returns the holders of the directory lock on a file, and the waiters. A number locks the file, and a
// name the name. The error is a *NoStateDir, or one for DirectoryError.
func DirectoryHolders(f *lockfile.File, base string) ([]fallback.Contender, error) {
	if lock := outer(f); lock != nil {
		return lock.Contenders()
	}
	lock, _, err := openDirectory(f, base)
	if err != nil {
		return nil, err
	}
	return lock.Contenders()
}

// openDirectory returns the directory lock of a file, and its state directory: the lock on the name of a file that was
// opened by name, and otherwise that on the open file. A file without a state directory is a *NoStateDir.
func openDirectory(f *lockfile.File, base string) (lock *fallback.Lock, dir string, err error) {
	dir, path, err := StateDir(f, base)
	switch {
	case err != nil:
		return nil, "", &NoStateDir{err}
	case f.ByName:
		return fallback.Open(dir, path, f.FD), dir, nil
	}
	lock, err = fallback.OpenFile(dir, path, f.FD)
	return lock, dir, err
}

// StateDir returns the state directory of a file, and the path of the file. The state directory is below base or, if
// base is empty, beside the file.
func StateDir(f *lockfile.File, base string) (dir, path string, err error) {
	if base != "" && !filepath.IsAbs(base) {
		return "", "", failure.Usage("FLOCK_DIR must be an absolute path: a relative path would mean " +
			"a different place in each directory: '" + base + "'")
	}
	if f.ByName {
		dir, err = fallback.StateDir(f.Name, base)
		if err == nil || f.FD < 0 {
			return dir, f.Name, err
		}
		// The working directory may have been removed. Then the descriptor still tells where the file is.
	}
	path, unnamed := proc.Path(f.FD)
	switch {
	case unnamed == nil:
		dir, err = fallback.StateDir(path, base)
	case !f.ByName:
		err = unnamed
	} // else err is that of the name
	return dir, path, err
}

// DirectoryError returns the error of a directory lock on a file. base is that of StateDir.
func DirectoryError(f *lockfile.File, base string, err error) error {
	var known *failure.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case sys.BadDescriptor(err):
		return FileError(f, err)
	}
	hint := "FLOCK_DIR, the same for all who use the lock, can name another place for the state directory"
	if base != "" {
		hint = "the directory that FLOCK_DIR names must exist and be writable"
	}
	failed := &failure.Error{Status: failure.ExDataErr, Text: f.Name + ": " + sys.Printable(err.Error()), Cause: err}
	switch {
	case sys.LacksResources(err):
		failed.Status = failure.ExOSErr
	case sys.CannotCreate(err):
		failed.Status, failed.Hint = failure.ExCantCreat, hint
	case sys.LacksPermission(err):
		failed.Status, failed.Hint = failure.ExNoInput, hint
	case errors.Is(err, fs.ErrNotExist): // below /proc that is the answer to mkdir(2)
		failed.Hint = hint
	}
	return failed
}
