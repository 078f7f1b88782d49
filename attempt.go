package main

import (
	"example.org/flock/internal/cli"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
)

// An attempt is a run's try to lock: what the user asked for, on which open file.
type attempt struct {
	*cli.Options
	out    *output.Printer
	file   *lockfile.File
	lock   *locks.Chain // the mechanisms; one of them serves
	queue  *locks.Chain // with --queue, likewise
	ticket locks.Ticket // with --replace, when it has the lock
}

func newAttempt(o *cli.Options, out *output.Printer, f *lockfile.File) (*attempt, error) {
	config := o.Config
	config.Warn, config.WarnVerbose = out.Warn, out.WarnVerbose
	a := &attempt{Options: o, out: out, file: f, lock: locks.New(f, config)}
	if !o.Queued {
		return a, nil
	}
	var err error
	a.queue, err = locks.NewQueue(f, config)
	return a, err
}

// reportIfFailed prints an error that does not change the exit status: that is the command's.
func (a *attempt) reportIfFailed(err error) {
	if err != nil {
		a.out.Fail(err)
	}
}
