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
	status := p.Status(start(p, b, args))
	termination.Finish()
	os.Exit(status)
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
	t := &task{printer: p, program: program, options: o, name: sys.Printable(o.File), service: newService()}
	waits := o.Action == cli.Lock && !o.Nonblock
	t.link = &Link{Reach: 5 * time.Second, Note: t.note, timed: o.HasTimeout, waits: waits,
		silent: t.sayWaitGoesOn, back: t.sayAnswers, looked: make(chan struct{}, 1)}
	if t.backend, err = program.Open(t.link); err != nil {
		return p.Fail(err)
	}
	switch o.Action {
	case cli.Holders:
		return t.list()
	case cli.Break:
		return t.breakLock()
	}
	return t.lock()
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

// A task is what the user wants: to run a command under a lock, to list who has one, or to break it.
type task struct {
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
}

// lock takes the lock, runs the command, releases the lock, and returns the exit status.
func (t *task) lock() int {
	o, began := t.options, time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	if o.HasTimeout {
		ctx, cancel = context.WithDeadlineCause(ctx, began.Add(o.Timeout), ErrTimeout)
	}
	defer cancel()
	t.signals = termination.Notify()
	// Before the first connection, which makes another attempt when it lacks a descriptor: a fork makes none.
	g, err := guard.Start(o.Command)
	if err != nil {
		return t.printer.Fail(err)
	}
	defer g.Close()
	t.printer.Beside() // a line that nobody reads does not keep this process from renewing its place or lock
	t.guard, t.reports = g, g.Reports()
	t.service.say("READY=1\nSTATUS=asking for " + t.name) // one that waits is ready, too
	h := &hold{task: t}
	acquired := make(chan struct{}) // closed when the lock or err is known
	go func() {
		h.lock, h.life, err = t.acquire(ctx)
		close(acquired)
	}()
	if end := t.wait(acquired, began); end != nil {
		cancel()
		if <-acquired; err == nil {
			release(h.lock, End{})
		}
		g.Close()
		return end()
	}
	if err != nil {
		return t.refuse(err)
	}
	t.link.held.Store(true)
	t.printer.PrintVerbose("getting lock took " + output.FormatSeconds(time.Since(began)) + " seconds")
	t.printer.PrintVerbose("executing " + o.Command[0])
	return h.execute()
}

// acquire takes the lock. If the place is lost while it waits, since the server was silent for as long as the TTL, it
// takes another one.
func (t *task) acquire(ctx context.Context) (Lock, Life, error) {
	for lost := 1; ; lost++ {
		lock, life, err := Acquire(ctx, t.link, t.backend, t.claim())
		if err == nil || !errors.Is(err, ErrLost) {
			return lock, life, err
		}
		if lost == 3 {
			tooSlow := t.link.Server + " answers too slowly for a TTL of " + seconds(t.link.TTL) +
				"\nchoose a longer TTL"
			if t.options.Nonblock {
				return nil, Life{}, Unavailable(tooSlow)
			}
			t.link.Note(tooSlow)
		}
	}
}

// wait waits until there is a lock or an error, and tells the user and systemd what for. If a signal or the end of the
// guard has ended the wait before, it returns what ends this program.
func (t *task) wait(acquired <-chan struct{}, began time.Time) (end func() (status int)) {
	var report <-chan time.Time
	reports, pause := t.options.Reports, t.options.ReportAfter
	for {
		select {
		case <-acquired:
			return nil
		case sig := <-t.signals:
			if endsWait(sig) {
				return func() int { return termination.EndBy(sig.(syscall.Signal)) }
			}
		case <-t.reports:
			return func() int { return t.guardGone("cannot wait any longer for") }
		case <-report:
			t.printer.Note("waiting for " + t.name + ", " + t.countInTime().state())
			pause = t.options.NextReport(pause)
			report = time.After(pause)
		case <-t.link.looked:
			if t.service.listens() {
				t.service.say("STATUS=waiting for " + t.name + ", " + t.countInTime().state())
			}
			if reports {
				reports, report = false, time.After(time.Until(began.Add(pause)))
			}
		case <-t.service.ticks:
			t.service.say("WATCHDOG=1")
		}
	}
}

// sayWaitGoesOn says that the server has no answer, or none that counts, for one who waits.
func (t *task) sayWaitGoesOn(why string) {
	t.note("requests to " + t.program.Server + " fail; the wait for " + t.name + " goes on: " + why)
}

// note prints each line of a text.
func (t *task) note(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		t.printer.Note(line)
	}
}

func (t *task) sayAnswers() { t.printer.Note(t.program.Server + " answers again") }

// claim returns what the options ask for.
func (t *task) claim() Claim {
	o, mode := t.options, Exclusive
	switch {
	case o.Op == locks.Shared:
		mode = Shared
	case o.Permits > 0:
		mode = Permit
	}
	return Claim{Name: o.File, Mode: mode, Permits: o.Permits, Nonblock: o.Nonblock, Queued: o.Queued, Queue: o.Queue,
		Cooldown: o.Cooldown, From: o.CooldownFrom}
}

// refuse says why there is no lock, and returns the exit status.
func (t *task) refuse(err error) int {
	o := t.options
	if err != ErrTaken && err != ErrTimeout {
		return t.printer.Fail(err)
	}
	if o.Reports {
		line := t.name + " is " + t.countInTime().state()
		if err == ErrTaken && o.Queued {
			line += "; its queue is full"
		}
		t.printer.Warn(line)
	} else if o.Verbose && o.Cooldown > 0 {
		if c := t.countInTime(); len(c.holders) == 0 && c.cooldown.Until != 0 {
			t.printer.Warn("cooldown " + c.cooldown.until())
		}
	}
	t.printer.WarnVerbose(locks.RefusalText(err))
	return o.ConflictExit
}

// guardGone reports that the guard has ended before the command ran, and returns the exit status. A signal that came
// before the guard caught signals was for this program.
func (t *task) guardGone(what string) int {
	switch sig := t.guard.KilledBy(); {
	case sig == syscall.SIGKILL:
		return t.printer.Fail(Unavailable(what + " the lock " + t.name + ": its guard was killed"))
	case slices.Contains(termination.Forwarded, sig):
		return termination.EndBy(sig)
	}
	return t.printer.Fail(t.guard.EndedEarly())
}

// endsWait reports whether a program that does not catch the signal dies by it.
func endsWait(sig os.Signal) bool { return sig != syscall.SIGWINCH }
