//go:build unix

// The runtime would read the limits of a container at every start.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Flock-etcd runs a command under a lock that all machines of a fleet share: a key in etcd. It is the backend etcd of flock,
// with the same options, messages and exit statuses.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/grpclog"

	"example.org/flock/etcd/internal/guard"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// version is set by the Makefile.
var version string

func main() {
	p := &output.Printer{Name: path.Base(os.Args[0])}
	os.Exit(p.Status(run(p, os.Args)))
}

// run is the whole program. It returns the exit status.
func run(p *output.Printer, args []string) int {
	o, err := cli.ParseFor("etcd", args, command.Shell)
	if err != nil {
		return fail(p, err)
	}
	p.Verbose = o.Verbose
	switch o.Action {
	case cli.Help:
		p.Print(helpText(p.Name))
		return 0
	case cli.Version:
		p.Print(p.Name + " " + cli.ProgramVersion(version) + " (the backend etcd of flock)\n")
		return 0
	}
	if err := checkOptions(o, args); err != nil {
		return fail(p, err)
	}
	conf, err := readConfig(os.Environ())
	if err != nil {
		return fail(p, err)
	}
	for _, variable := range conf.idle {
		p.WarnVerbose(variable + " has no effect")
	}
	s := newStore(conf, o.File)
	if o.Action == cli.Holders {
		return showHolders(p, s)
	}
	return lockAndRun(p, s, o)
}

// checkOptions refuses what the lock of a fleet cannot do.
func checkOptions(o *cli.Options, args []string) error {
	refuse := func(what, why string) error {
		return &cli.UsageError{Text: what + " cannot be combined with the backend etcd: " + why}
	}
	const longest = 9_000_000_000 // seconds, of a lease
	switch name := o.File; {
	case o.Cooldown > longest*time.Second:
		return &cli.UsageError{Text: "invalid cooldown: etcd keeps one for 9000000000 seconds at most"}
	case o.Op == kernlock.Unlock:
		return refuse("--unlock", "the lock ends with the command that has it")
	case o.FD >= 0:
		return refuse("a descriptor number", "the lock has no file; give a name and a command")
	case o.NoFork:
		return refuse("--no-fork", "the lease of the lock must be kept alive while the command runs")
	case o.Action == cli.Holders && name == "" && args[len(args)-1] != "":
		return nil // all locks
	case name == "" || name == "." || name == "..":
		return &cli.UsageError{Text: "invalid name of a lock: '" + sys.Printable(name) + "'"}
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return &cli.UsageError{Text: "a relative path means another lock on each machine: '" + sys.Printable(name) +
			"' (give a name without a slash, or an absolute path)"}
	}
	return nil
}

// lockAndRun takes the lock, runs the command, releases the lock, and returns the exit status.
func lockAndRun(p *output.Printer, s *store, o *cli.Options) int {
	began := time.Now()
	s.patient.Store(!o.Nonblock)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if o.Limited {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, began.Add(o.Timeout), kernlock.ErrTimeout)
		defer stop()
		s.limit = time.Time{} // instead of it
		s.reach = min(s.reach, o.Timeout)
	}
	os.Unsetenv(guard.TokenVariable) // of a lock around this one: the command would take it for its own
	signals := catchSignals()
	// Before the first connection, which makes another attempt when it lacks a descriptor: a fork makes none.
	g, err := guard.Start(o.Command)
	if err != nil {
		return fail(p, err)
	}
	defer g.Close()
	var l *place
	held := make(chan error, 1)
	go func() {
		var err error
		l, err = acquire(ctx, p, s, newRequest(o))
		held <- err
	}()
	waits, report := s.waits, (<-chan time.Time)(nil)
	for waiting := true; waiting; {
		select {
		case err = <-held:
			waiting = false
		case sig := <-signals:
			why := &killed{sig.(syscall.Signal)}
			if cancel(why); <-held == nil {
				l.releaseSoon()
			}
			g.Close()
			return why.die()
		case <-waits:
			if waits = nil; o.Reports {
				report = time.After(time.Until(began.Add(o.ReportAfter)))
			}
		case <-report:
			if state := s.state(); len(held) == 0 {
				p.Warn("waiting for " + s.name + ", " + state)
			}
		}
	}
	if err != nil {
		return reportFailure(p, s, o, err)
	}
	s.patient.Store(true) // the lease is the limit now
	p.PrintVerbose("getting lock took " + output.FormatSeconds(time.Since(began)) + " seconds")
	p.PrintVerbose("executing " + o.Command[0])
	h := &hold{place: l, printer: p, guard: g, signals: signals}
	return h.run()
}

// reportFailure says why there is no lock, and returns the exit status.
func reportFailure(p *output.Printer, s *store, o *cli.Options, err error) int {
	if !kernlock.IsRefusal(err) {
		return fail(p, err)
	}
	if o.Reports {
		line := s.name + " is " + s.state()
		if err == kernlock.ErrConflict && o.Queued {
			line += "; its queue is full"
		}
		p.Warn(line)
	}
	p.WarnRefusal(err)
	return o.ConflictExit
}

// A killed is the error of a wait that a signal ended.
type killed struct{ sig syscall.Signal }

func (k *killed) Error() string { return unix.SignalName(k.sig) }

// die dies by the signal, as a program does that did not catch it. For SIGQUIT the Go runtime would print its stacks.
func (k *killed) die() int {
	if k.sig == syscall.SIGQUIT {
		return 128 + int(k.sig)
	}
	signal.Reset(k.sig)
	syscall.Kill(os.Getpid(), k.sig)
	select {}
}

// stopping are the signals that are meant for the command and, before it runs, end flock-etcd.
var stopping = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// catchSignals returns those that come. One that is ignored stays ignored.
func catchSignals() <-chan os.Signal {
	c := make(chan os.Signal, 8)
	for _, s := range stopping {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

func init() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // what grpc would say to the user
}
