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
)

// The command is to be started by the main thread: some of what it inherits
// belongs to a thread, such as the signal to get when the parent dies.
func init() { runtime.LockOSThread() }

func main() {
	tameRuntime()
	p := &printer{name: programName(os.Args[0])}
	code := run(p, os.Args)
	os.Exit(p.status(code))
}

// run is the whole program. It returns the exit status, or does not return:
// with --no-fork the command takes this process over.
func run(p *printer, args []string) int {
	o, err := parseOptions(args)
	if err != nil {
		return fail(p, err)
	}
	if o.show != nil {
		p.out(o.show(p.name))
		return 0
	}
	if o.holders {
		code, err := showHolders(p, o)
		if err != nil {
			return fail(p, err)
		}
		return code
	}
	if err := earlyFailure(o); err != nil {
		return notExecuted(p, err)
	}
	f, err := openLockFile(o)
	if err != nil {
		return fail(p, err)
	}

	if o.limited {
		outlastAlarm() // and the command gets its default action, as with the reference
	}
	started := begin()
	o.deadline = started.Add(o.timeout)
	if o.supervisor != 0 {
		o.deadline = started.Add(o.left)
	}
	if err := acquire(p, f, o); err == errSupervise {
		return supervise(p, f, o, args)
	} else if err != nil {
		return refused(p, o, err)
	}
	if o.verbose {
		p.out(p.name + ": getting lock took " + seconds(time.Since(started)) + " seconds\n")
	}
	if len(o.command) == 0 {
		return 0
	}

	if o.verbose {
		p.out(p.name + ": executing " + o.command[0] + "\n")
	}
	if o.closeFd {
		f.closeOnExec()
	}
	if o.noFork {
		p.flush()
		if o.supervisor == 0 || p.outErr == nil {
			return notExecuted(p, become(o.command))
		} // else there would be nobody to tell of the write error
	}
	code, err := runCommand(o.command)
	if err != nil {
		return notExecuted(&printer{name: p.name}, err)
	}
	if o.cooldown > 0 {
		if err := f.startCooldown(o); err != nil {
			fail(p, err) // that of the beginning still stands
		}
	}
	return code
}

// refused tells why there is no lock. That somebody else has it is an answer
// rather than an error, and told only to who wants to know.
func refused(p *printer, o *options, err error) int {
	switch err {
	case errConflict:
		if o.verbose {
			p.warn("failed to get lock")
		}
		return o.conflictExit
	case errTimeout:
		if o.verbose {
			p.warn("timeout while waiting to get lock")
		}
		return o.conflictExit
	}
	return fail(p, err)
}

// notExecuted tells that the command could not be executed. In a C program the
// child does so, and whether it could is not asked.
func notExecuted(p *printer, err error) int {
	code := fail(p, err)
	p.outErr, p.errErr = nil, nil
	return code
}

// fail tells of an error and returns the exit status that goes with it.
func fail(p *printer, err error) int {
	if usage, ok := err.(*usageError); ok {
		p.warn(usage.text)
		if usage.try {
			p.hint("Try '" + p.name + " --help' for more information.\n")
		}
		return exUsage
	}
	p.warn(err.Error())
	return exitStatus(err)
}
