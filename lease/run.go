//go:build unix

package lease

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/locks"
	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
	"example.org/flock/internal/termination"
)

// A process that is a guard ends here, before most of what the program needs is initialized. Other processes have their
// guards by the first thread, in which main goes on.
func init() {
	runtime.LockOSThread()
	guard.Begin()
}

// Main is the whole program of a backend.
func Main(b Program) {
	args := cli.Args()
	p := output.New(path.Base(args[0]))
	os.Exit(p.Status(start(p, b, args)))
}

// start reads the command line and the variables, and does what they say. It returns the exit status.
func start(p *output.Printer, program Program, args []string) int {
	o, err := cli.ParseFor(program.Backend, args, slices.Sorted(maps.Keys(program.Texts)), command.Shell)
	if err != nil {
		return p.Fail(err)
	}
	p.Verbose = o.Verbose
	switch o.Action {
	case cli.Help:
		p.Print(strings.ReplaceAll(program.Help, "NAME", p.Name))
		return 0
	case cli.Version:
		version := cli.ProgramVersion(program.Version)
		p.Print(p.Name + " " + version + " (the backend " + program.Backend + " of flock)\n")
		return 0
	case cli.Own:
		p.Print(program.Texts[o.Own])
		return 0
	}
	if err := checkName(o, args); err != nil {
		return p.Fail(err)
	}
	// The command would take those of a lock around this one for its own.
	cstart.Unsetenv(guard.TokenVariable)
	if o.Permits > 0 {
		cstart.Unsetenv(locks.PermitVariable)
	}
	r := &run{printer: p, program: program, options: o, name: sys.Printable(o.File), service: newService()}
	waits := o.Action == cli.Lock && !o.Nonblock
	r.link = &Link{Reach: 5 * time.Second, Note: r.note, timed: o.HasTimeout, waits: waits}
	r.link.silent, r.link.back, r.link.looked = r.sayWaitGoesOn, r.sayAnswers, r.noteWait
	if r.backend, err = program.Open(r.link); err != nil {
		return p.Fail(err)
	}
	switch o.Action {
	case cli.Holders:
		return r.list()
	case cli.Break:
		return r.breakLock()
	}
	return r.lock()
}

// checkName refuses what is no name of a lock.
func checkName(o *cli.Options, args []string) error {
	switch name := o.File; {
	case o.FD >= 0:
		return Misused("a descriptor number cannot be combined with the backend " + o.BackendName +
			"\ngive a name and a command")
	case o.Action == cli.Holders && name == "" && args[len(args)-1] != "":
		return nil // all locks
	case name == "" || name == "." || name == "..":
		return failure.Usage("invalid name of a lock: '" + sys.Printable(name) + "'")
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return Misused("a relative path means another lock in each directory: '" + sys.Printable(name) +
			"'\ngive a name without a slash, or an absolute path")
	}
	return nil
}

// A run takes a lock and runs a command.
type run struct {
	printer *output.Printer
	program Program
	backend Backend
	link    *Link
	options *cli.Options
	service *service
	signals <-chan os.Signal
	guard   *guard.Guard
	reports <-chan guard.Message // of the guard
	name    string               // of the lock, for messages
	taken   chan struct{}        // somebody else has the lock, or may have it
}

// lock takes the lock, runs the command, releases the lock, and returns the exit status.
func (r *run) lock() int {
	o, began := r.options, time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	if o.HasTimeout {
		ctx, cancel = context.WithDeadlineCause(ctx, began.Add(o.Timeout), ErrTimeout)
	}
	defer cancel()
	r.signals, r.taken = termination.Forward(), make(chan struct{}, 1)
	// Before the first connection, which makes another attempt when it lacks a descriptor: a fork makes none.
	g, err := guard.Start(o.Command)
	if err != nil {
		return r.printer.Fail(err)
	}
	defer g.Close()
	r.guard, r.reports = g, g.Reports()
	r.service.say("READY=1\nSTATUS=asking for " + r.name) // one that waits is ready, too
	var held Held
	got := make(chan struct{})
	go func() {
		held, err = r.acquire(ctx)
		close(got)
	}()
	if sig, isEnded := r.wait(got, began); isEnded { // by a signal, or because the guard is gone
		cancel()
		if <-got; err == nil {
			held.Release(context.Background(), End{})
		}
		g.Close()
		if sig == 0 {
			return r.guardKilled("cannot wait any longer for")
		}
		return termination.Die(sig)
	}
	if err != nil {
		return r.refuse(err)
	}
	r.link.held.Store(true)
	r.printer.PrintVerbose("getting lock took " + output.FormatSeconds(time.Since(began)) + " seconds")
	r.printer.PrintVerbose("executing " + o.Command[0])
	return (&hold{run: r, held: held}).execute()
}

// acquire takes the lock. If the place is lost while it waits, since the server was silent for as long as the TTL, it
// takes another one.
func (r *run) acquire(ctx context.Context) (Held, error) {
	for lost := 1; ; lost++ {
		r.link.see(false, "")
		held, err := r.backend.Acquire(ctx, r.request())
		if err == nil {
			if err = freshen(ctx, held); err == nil {
				return held, nil
			}
			held.Release(context.Background(), End{})
		}
		if !errors.Is(err, ErrLost) {
			return nil, err
		}
		if lost == 3 {
			tooSlow := r.link.Server + " answers too slowly for a TTL of " + seconds(r.link.TTL) +
				"\nchoose a longer TTL"
			if r.options.Nonblock {
				return nil, Unavailable(tooSlow)
			}
			r.link.Note(tooSlow)
		}
	}
}

// freshen renews a lock if so much of its TTL is over that the next answer may come too late.
func freshen(ctx context.Context, held Held) error {
	isOld := func() bool {
		since, ttl := held.Life()
		return Now() >= since+ttl*3/10
	}
	if !isOld() {
		return nil
	}
	if err := held.Renew(ctx); err != nil || !isOld() {
		return err
	}
	return ErrLost
}

// wait waits until there is a lock or an error, and tells the user and systemd what for. It reports whether something
// else has ended the wait: a signal, or the end of the guard.
func (r *run) wait(got <-chan struct{}, began time.Time) (sig syscall.Signal, isEnded bool) {
	var report <-chan time.Time
	reports, pause := r.options.Reports, r.options.ReportAfter
	for {
		select {
		case <-got:
			return 0, false
		case s := <-r.signals:
			if endsWait(s) {
				return s.(syscall.Signal), true
			}
		case <-r.reports:
			return 0, true
		case <-report:
			r.printer.Warn("waiting for " + r.name + ", " + r.state())
			pause = r.options.NextReport(pause)
			report = time.After(pause)
		case <-r.taken:
			if r.service.listens() {
				r.service.say("STATUS=waiting for " + r.name + ", " + r.state())
			}
			if reports {
				reports, report = false, time.After(time.Until(began.Add(pause)))
			}
		case <-r.service.ticks:
			r.service.say("WATCHDOG=1")
		}
	}
}

// sayWaitGoesOn says that the server does not answer one who waits.
func (r *run) sayWaitGoesOn(why string) {
	r.printer.Note(r.program.Server + " does not answer: " + why + "; the wait for " + r.name + " goes on")
}

// note prints each line of a text.
func (r *run) note(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.printer.Note(line)
	}
}

// noteWait has the wait told to those who want to know about it.
func (r *run) noteWait() {
	select {
	case r.taken <- struct{}{}:
	default: // that is known, and not yet dealt with
	}
}

func (r *run) sayAnswers() { r.printer.Note(r.program.Server + " answers again") }

// request returns what the options ask for.
func (r *run) request() Request {
	o, mode := r.options, Exclusive
	switch {
	case o.Op == locks.Shared:
		mode = Shared
	case o.Permits > 0:
		mode = Permit
	}
	return Request{Name: o.File, Mode: mode, Permits: o.Permits, Nonblock: o.Nonblock, Queued: o.Queued, Queue: o.Queue,
		Cooldown: o.Cooldown, From: o.CooldownFrom}
}

// refuse says why there is no lock, and returns the exit status.
func (r *run) refuse(err error) int {
	o := r.options
	if err != ErrTaken && err != ErrTimeout {
		return r.printer.Fail(err)
	}
	if o.Reports {
		line := r.name + " is " + r.state()
		if err == ErrTaken && o.Queued {
			line += "; its queue is full"
		}
		r.printer.Warn(line)
	} else if o.Verbose && o.Cooldown > 0 {
		if _, until, cools := strings.Cut(r.state(), "in its cooldown "); cools {
			r.printer.Warn("cooldown " + until)
		}
	}
	r.printer.WarnVerbose(locks.RefusalText(err))
	return o.ConflictExit
}

// guardKilled reports that the guard was killed before the command ran, and returns the exit status. A signal that came
// before the guard caught signals was for this program.
func (r *run) guardKilled(what string) int {
	if sig := r.guard.KilledBy(); slices.Contains(termination.Forwarded, os.Signal(sig)) {
		return termination.Die(sig)
	}
	return r.printer.Fail(Unavailable(what + " the lock " + r.name + ": its guard was killed"))
}

// endsWait reports whether a program that does not catch the signal dies by it.
func endsWait(sig os.Signal) bool { return sig != syscall.SIGWINCH }
