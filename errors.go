package main

import (
	"errors"
	"io/fs"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// What is said about the lock file comes from this file, and every exit status of our own from its table. Package output
// prints it.

// An action is what the program was doing to the lock file when it failed.
type action uint8

const (
	opening action = iota
	locking
	lockingDirectory
	lockingOnNFS // by a descriptor that is not open for what the lock needs there
	queueing
	settingCooldown
	listingHolders
	removing
)

// What the lock file is not fit for.
var (
	errPermitReadOnly  = errors.New("--permits needs a descriptor that is open for writing")
	errPermitOnNetwork = errors.New("on NFS --permits needs --backend directory or --backend fcntl, for all who use the file; " +
		"on SMB it cannot be had")
	errQueueOnNetwork = errors.New("on NFS --queue needs --backend directory for all who use the file, and on SMB it cannot be had")
)

// A fileError says what could not be done to which lock file.
type fileError struct {
	action action
	file   string
	err    error
}

func (e *fileError) Unwrap() error { return e.err }

func (e *fileError) Error() string {
	switch e.action {
	case opening:
		return "cannot open lock file " + e.file + ": " + sys.Text(e.err)
	case lockingDirectory:
		text := e.file + ": " + sys.Printable(e.err.Error())
		denied := sys.LacksPermission(e.err) || sys.CannotCreate(e.err)
		switch dir, _ := cstart.Getenv("FLOCK_DIR"); {
		case denied && dir == "":
			text += " (FLOCK_DIR can name a directory to keep it in)"
		case dir != "" && (denied || errors.Is(e.err, fs.ErrNotExist)):
			text += " (the directory that FLOCK_DIR names must exist and be writable)"
		}
		return text
	case lockingOnNFS:
		return e.file + ": " + sys.Text(e.err) + " (on NFS the descriptor must be open for writing, for a shared lock for " +
			"reading: use a separate lock file, as 9>>FILE or 9<>FILE)"
	case queueing:
		return e.file + ": --queue needs flock(2), byte locks, and a writable file that is not a program (or, for all who use it, " +
			"--backend directory): " + sys.Text(e.err)
	case settingCooldown:
		return "cannot set the cooldown of " + e.file + ": " + sys.Text(e.err)
	case removing:
		return "cannot remove lock file " + e.file + ": " + sys.Text(e.err)
	case listingHolders:
		return "cannot tell who holds " + e.file + ": " + sys.Printable(e.err.Error())
	}
	return e.file + ": " + sys.Text(e.err)
}

// A refusal is a lock that another process holds, with what --verbose says about that.
type refusal struct {
	err error // kernlock.ErrConflict or ErrTimeout
	why string
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// exitStatus is the table from errors to exit statuses.
func exitStatus(err error) int {
	var usage *cli.UsageError
	var start *command.StartError
	var wait *command.WaitError
	var file *fileError
	switch {
	case errors.As(err, &usage):
		return output.ExUsage
	case errors.As(err, &start) && !sys.LacksMemory(err):
		return output.ExUnavailable
	case errors.As(err, &wait):
		return 1
	case !errors.As(err, &file), sys.LacksResources(err):
		return output.ExOSErr
	}
	switch file.action {
	case opening, lockingDirectory:
		switch {
		case sys.CannotCreate(err):
			return output.ExCantCreat
		case file.action == opening, sys.LacksPermission(err):
			return output.ExNoInput
		}
		return output.ExDataErr
	case locking, lockingOnNFS, queueing:
		return output.ExDataErr
	case listingHolders:
		return output.ExUnavailable
	}
	return output.ExOSErr
}

// fail reports an error and returns its exit status.
func fail(p *output.Printer, err error) int {
	p.WarnError(err)
	var start *command.StartError
	if errors.As(err, &start) && cli.IsMisplaced(start.Name) {
		p.Warn("options go before the file: flock [options] <file> <command>")
	}
	return exitStatus(err)
}
