// The runtime would hold the files open that give the CPU limit of a
// container, and the lock file would not get the lowest free number.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Flock takes a lock on a file, a directory or an open descriptor, and runs a
// command under it. It is a drop-in for the flock(1) of util-linux.
package main

import (
	"os"
	"runtime"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/early"
	"example.org/flock/internal/output"
)

// version is set by the Makefile.
var version string

func init() {
	// The main thread must start the command: some of what the command inherits belongs to a thread, such as the signal
	// that it gets when its parent dies.
	runtime.LockOSThread()
	if cstart.IsLibrary {
		main() // which the runtime does not call
	}
}

func main() {
	p := &output.Printer{Name: command.BaseName(os.Args[0])}
	code := run(p, os.Args)
	os.Exit(p.Status(code))
}

// run is the whole program. It returns the exit status, or does not return: with --no-fork the command replaces this
// process.
func run(p *output.Printer, args []string) int {
	s, args, err := readSupervisor(args)
	if err != nil {
		return fail(p, err)
	}
	o, err := cli.Parse(args, cstart.Getenv, command.Shell)
	if err != nil {
		return fail(p, err)
	}
	if o.Backend == cli.Other {
		return fail(p, becomeBackend(o, args))
	}
	p.Verbose = o.Verbose
	switch o.Action {
	case cli.Help:
		p.Print(cli.HelpText(p.Name))
		return 0
	case cli.Version:
		p.Print(cli.VersionText(p.Name, cli.ProgramVersion(version)))
		return 0
	case cli.Holders:
		return showHolders(p, o)
	}
	if err := earlyFailure(o); err != nil {
		return failInChild(p, err)
	}

	f, err := openLockFile(o)
	if err != nil {
		return fail(p, err)
	}
	if o.Limited {
		cstart.OutlastAlarm()
	}
	began := time.Now().Add(-time.Duration(early.Elapsed()))
	r, c := newRequest(o, s.deadline(o, began)), newContender(o, s)
	release, err := acquire(p, f, r, c)
	switch err {
	case nil:
	case errSupervise:
		return supervise(p, f, r, c, args)
	default:
		return refuse(p, err, o.ConflictExit)
	}
	p.PrintVerbose("getting lock took " + output.FormatSeconds(time.Since(began)) + " seconds")
	if len(o.Command) == 0 {
		return 0
	}
	return execute(p, f, o, s, release)
}
