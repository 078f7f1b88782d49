package main

import (
	"errors"
	"strconv"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/sys"
)

// Everything that is said to the user goes through this file, and every exit status of our own comes from its table.

// The exit statuses, named as in sysexits.h.
const (
	exUsage       = 64
	exDataErr     = 65
	exNoInput     = 66
	exUnavailable = 69
	exOSErr       = 71
	exCantCreat   = 73
)

// An action is what the program was doing to the lock file when it failed.
type action uint8

const (
	opening action = iota
	locking
	lockingDirectory
	lockingPermit // by a descriptor that is open for reading only
	settingCooldown
	listingHolders
	removing
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
		return e.file + ": " + sys.Printable(e.err.Error())
	case lockingPermit:
		return e.file + ": --permits needs a descriptor that is open for writing"
	case settingCooldown:
		return "cannot set the cooldown of " + e.file + ": " + sys.Text(e.err)
	case removing:
		return "cannot remove lock file " + e.file + ": " + sys.Text(e.err)
	case listingHolders:
		return "cannot tell who holds " + e.file + ": " + sys.Printable(e.err.Error())
	}
	return e.file + ": " + sys.Text(e.err)
}

// exitStatus is the table from errors to exit statuses.
func exitStatus(err error) int {
	var usage *cli.UsageError
	var start *command.StartError
	var wait *command.WaitError
	var file *fileError
	switch {
	case errors.As(err, &usage):
		return exUsage
	case errors.As(err, &start) && !sys.LacksMemory(err):
		return exUnavailable
	case errors.As(err, &wait):
		return 1
	case !errors.As(err, &file), sys.LacksResources(err):
		return exOSErr
	}
	switch file.action {
	case opening:
		if sys.CannotCreate(err) {
			return exCantCreat
		}
		return exNoInput
	case lockingDirectory:
		switch {
		case sys.CannotCreate(err):
			return exCantCreat
		case sys.LacksPermission(err):
			return exNoInput
		}
		return exDataErr
	case locking, lockingPermit:
		return exDataErr
	case listingHolders:
		return exUnavailable
	}
	return exOSErr
}

// A printer prints in the program's name.
type printer struct {
	name    string // base name of argv[0]
	verbose bool

	outErr    error  // of the first failed write to standard output
	errErr    error  // and to standard error
	unwritten string // to standard output

	unwrittenStatus int // exit status if that cannot be written; 0 means 1
}

// warn prints a line, after the program's name, to standard error.
func (p *printer) warn(text string) { p.writeError(p.name + ": " + text + "\n") }

// warnVerbose does so with --verbose only.
func (p *printer) warnVerbose(text string) {
	if p.verbose {
		p.warn(text)
	}
}

func (p *printer) writeError(text string) {
	if err := sys.Write(2, text); err != nil {
		p.errErr = err
	}
}

// print prints to standard output as the C library does: to a terminal at once, to anything else at the end. A failure is
// reported at the end, too.
func (p *printer) print(text string) {
	p.unwritten += text
	if sys.IsTerminal(1) {
		p.flush()
	}
}

// printVerbose prints a line, after the program's name, with --verbose only.
func (p *printer) printVerbose(text string) {
	if p.verbose {
		p.print(p.name + ": " + text + "\n")
	}
}

func (p *printer) flush() {
	if p.unwritten == "" {
		return
	}
	if err := sys.Write(1, p.unwritten); err != nil && p.outErr == nil {
		p.outErr = err
	}
	p.unwritten = ""
}

// fail reports an error and returns its exit status.
func (p *printer) fail(err error) int {
	p.warn(err.Error())
	var usage *cli.UsageError
	if errors.As(err, &usage) {
		if usage.Try {
			p.writeError("Try '" + p.name + " --help' for more information.\n")
		}
		if usage.Hint != "" {
			p.warn(usage.Hint)
		}
	}
	return exitStatus(err)
}

// refuse returns the exit status where there is no lock. That another process holds it is an answer rather than an error,
// and reported with --verbose only.
func (p *printer) refuse(err error, conflictExit int) int {
	switch err {
	case kernlock.ErrConflict:
		p.warnVerbose("failed to get lock")
	case kernlock.ErrTimeout:
		p.warnVerbose("timeout while waiting to get lock")
	default:
		return p.fail(err)
	}
	return conflictExit
}

// status returns the exit status to end with: 1 instead of code if something could not be written. As in the reference, a
// closed standard output or a pipe without a reader is no failure.
func (p *printer) status(code int) int {
	p.flush()
	if err := p.outErr; err != nil && !sys.NobodyReads(err) {
		p.warn("write error: " + sys.Text(err))
		return max(p.unwrittenStatus, 1)
	}
	if p.errErr != nil {
		return max(p.unwrittenStatus, 1)
	}
	return code
}

// formatSeconds writes a duration as S.UUUUUU.
func formatSeconds(d time.Duration) string {
	micro := strconv.FormatInt(int64(d/time.Microsecond%1e6)+1e6, 10)
	return strconv.FormatInt(int64(d/time.Second), 10) + "." + micro[1:]
}

// formatClock writes a time of day, not too early.
func formatClock(t time.Time) string {
	return t.Add(time.Second - 1).Format("2006-01-02 15:04:05 -0700")
}
