package main

import (
	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/early"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
)

// execute runs the command while the lock is held, and returns the exit status. It does not return if this process becomes
// the command.
func execute(p *printer, f *lockfile.File, o *cli.Options, s supervisor) int {
	p.printVerbose("executing " + o.Command[0])
	if o.Close {
		f.CloseOnExec()
	}
	if becomesCommand(o, s) {
		p.flush()
		if !s.exists() || p.outErr == nil {
			return failInChild(p, command.Become(o.Command))
		} // else nobody would be left to report the write error
	}
	code, err := command.Run(o.Command)
	if err != nil {
		if _, ok := err.(*command.StartError); ok && o.Close && f.FD == 2 {
			return exitStatus(err) // in the reference the child reports it, which has closed its standard error
		}
		return failInChild(&printer{name: p.name}, err)
	}
	if o.Cooldown > 0 {
		if err := startCooldown(f, o.Cooldown); err != nil {
			p.fail(err) // the cooldown that began with the command goes on
		}
	}
	return code
}

// earlyFailure returns why the run without the Go runtime could not execute the command, or not wait for it. Where the
// command could not be executed, this process is the child.
func earlyFailure(o *cli.Options) error {
	switch r := early.Result(); r.Failed {
	case early.Forking:
		return &command.ForkError{Err: r.Errno}
	case early.Executing:
		return &command.StartError{Name: o.Command[0], Err: r.Errno}
	case early.Waiting:
		return &command.WaitError{Err: r.Errno}
	}
	return nil
}

// becomesCommand reports whether this process becomes the command rather than its parent.
func becomesCommand(o *cli.Options, s supervisor) bool {
	if o.NoFork || s.exists() {
		return true
	}
	// Such a lock does not pass to a child, but stays across exec.
	return kernlock.OwnedByProcess && o.Backend == cli.ByFcntl && !o.Close
}

// failInChild reports that the command cannot be executed. In the reference the child reports it, and whether its output
// can be written has no effect on the exit status.
func failInChild(p *printer, err error) int {
	code := p.fail(err)
	p.outErr, p.errErr = nil, nil
	return code
}
