//go:build unix

package lease

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/guard"
	"example.org/flock/internal/output"
	"example.org/flock/internal/termination"
)

// A hold is the time in which the lock is held and the command runs.
type hold struct {
	*task
	held Held

	renewals chan error // what Renew has returned
	refusal  *Error     // of one since the last success; nil: there was none
	started  bool       // the command has run
	warned   bool       // the user knows that the server is silent
	dropped  bool       // the server has dropped the lock
}

// deadlines returns until when the command may run.
func (h *hold) deadlines() guard.Deadlines {
	since, ttl := h.held.Life()
	return guard.Deadlines{Term: since + ttl*6/10, Kill: since + ttl*8/10, End: since + ttl*9/10}
}

// command is what the guard runs.
func (h *hold) command() guard.Command {
	o := h.options
	return guard.Command{Argv: o.Command, Rules: guard.Rules{Limit: o.Limit, Leftovers: o.KillChildren},
		Note: h.printer.Note, NotesMore: o.Verbose || o.Reports}
}

// execute runs the command, releases the lock, and returns the exit status.
func (h *hold) execute() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.printer.Flush() // before the command prints
	h.service.say("STATUS=has the lock " + h.name + " since " + time.Now().Format(output.Clock))
	h.guard.Give(guard.Message{Kind: guard.Run, Deadlines: h.deadlines(), Rules: h.command().Rules,
		Token: h.held.Token()})
	since, ttl := h.held.Life()
	h.renewals = make(chan error)
	var lost <-chan struct{} // from a moment on: many a command is done before this would be of use
	aMoment, next := time.After(100*time.Millisecond), since+ttl/5
	for {
		select {
		case m, open := <-h.reports:
			if !open {
				return h.endOfGuard()
			}
			if m.Kind != guard.Ended && m.Kind != guard.Failed {
				h.started = true
				h.command().Relay(m)
				continue
			}
			for _, sig := range termination.Arrived(h.signals) {
				h.passOn(sig)
			}
			h.guard.Close()
			cancel() // the lock is not renewed any longer
			return h.end(m)
		case sig := <-h.signals:
			h.passOn(sig)
		case <-aMoment:
			lost = h.held.Lost()
		case <-until(next):
			if Now() >= next {
				next = Now() + ttl/5
				go h.renew(ctx, ttl*2/5)
			}
		case err := <-h.renewals:
			h.takeNote(err)
		case <-until(h.whenSilent()):
			if Now() >= h.whenSilent() {
				h.warn(h.link.Why())
			}
		case <-lost:
			lost, aMoment, next = nil, time.After(ttl/5), Now()
		case <-until(h.deadlines().End - ttl/50):
			if Now() >= h.deadlines().End-ttl/50 { // the guard has had its time
				return h.lose(Killed, h.guard.KillAll())
			}
		}
	}
}

// passOn passes a signal on to the command.
func (h *hold) passOn(sig os.Signal) {
	h.guard.PassOn(sig.(syscall.Signal), termination.IsOfTerminals(sig))
}

// until returns a channel that is ready at a time, or a second from now: timers stand still while a machine sleeps, and
// the clock of Now does not.
func until(at time.Duration) <-chan time.Time { return time.After(min(at-Now(), time.Second)) }

// renew renews the lock. Nobody waits for the answer before the next request, so a server that takes long for each
// still answers in time.
func (h *hold) renew(ctx context.Context, timeout time.Duration) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := h.held.Renew(limited)
	select {
	case h.renewals <- err:
	case <-ctx.Done():
	}
}

// takeNote takes note of what Renew has returned.
func (h *hold) takeNote(err error) {
	var no *Error
	switch {
	case errors.Is(err, ErrLost):
		h.dropped = true
		h.guard.Give(guard.Message{Kind: guard.Abort})
	case err == nil:
		if h.refusal = nil; h.warned {
			h.warned = false
			h.note(h.program.Server + " has renewed the lock " + h.name)
		}
		h.guard.Give(guard.Message{Kind: guard.Move, Deadlines: h.deadlines()})
		if h.service.ticks != nil {
			h.service.say("WATCHDOG=1")
		}
	case errors.As(err, &no) && no.Status != failure.ExTempFail:
		if h.refusal = no; !h.warned {
			h.warn(no.Text + "\n" + no.Hint)
		}
	}
}

// whenSilent returns when the server counts as silent. The next renewal is sent a fifth of the TTL after the last one
// that was answered; it has another fifth for its answer, or twice what the last answer took, if that is longer: slow
// is not silent.
func (h *hold) whenSilent() time.Duration {
	if h.warned {
		return math.MaxInt64
	}
	since, ttl := h.held.Life()
	return since + ttl/5 + max(ttl/5, 2*h.link.Slowness())
}

// warn says that the lock is not renewed and why, before that costs the command its life.
func (h *hold) warn(why string) {
	h.warned = true
	since, _ := h.held.Life()
	h.note(h.program.Server + " has not renewed the lock " + h.name + " for " + seconds(Now()-since) +
		"; the command is terminated in " + seconds(h.deadlines().Term-Now()) + ": " + why)
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(max(d, 0).Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// endOfGuard ends what is left of the command when the guard was killed.
func (h *hold) endOfGuard() int {
	survivor := h.guard.KillAll()
	if !h.started && survivor == 0 {
		h.held.Release(context.Background(), End{Fate: Killed}) // it may have started the command just before
		return h.guardGone("lost")
	}
	h.refusal = &Error{Text: "its guard was killed"}
	return h.lose(Killed, survivor)
}

// end releases the lock when the guard has done its work, and returns the exit status.
func (h *hold) end(m guard.Message) int {
	switch {
	case m.Kind == guard.Failed:
		err := m.Failure(h.options.Command[0])
		h.held.Release(context.Background(), End{Fate: NotStarted, Status: err.Status})
		return h.printer.Fail(err)
	case m.Cause == guard.Lost && !h.started:
		return h.lose(NotStarted, 0)
	case m.Cause == guard.Lost:
		return h.lose(Killed, m.Survivor)
	}
	_, ttl := h.held.Life()
	ctx, cancel := context.WithTimeout(context.Background(), min(ttl, 10*time.Second))
	defer cancel()
	go func() {
		for sig := range h.signals {
			if endsWait(sig) {
				// It may have come with one that the command has got: the server has time to answer.
				time.AfterFunc(2*time.Second, cancel)
			}
		}
	}()
	end := End{Fate: Ended, Status: m.Number}
	switch {
	case !h.started: // a signal came before the start
		end = End{Fate: NotStarted}
	case m.Cause == guard.AtLimit:
		end.Status = guard.StatusAtLimit
	case m.Killed:
		end.Signal = syscall.Signal(m.Number - 128)
	}
	if h.options.CooldownFrom == FromSuccess && end.Status != 0 {
		end.Fate = Failed
	}
	err := h.held.Release(ctx, end)
	switch {
	case h.dropped || errors.Is(err, ErrLost):
		return h.report(h.droppedPlace() + " while the command ran; the command has ended")
	case err != nil:
		h.printer.Warn("cannot release the lock " + h.name + ", which ends with " + h.program.Lease + ": " + err.Error())
	}
	return h.guard.Status(m)
}

func (h *hold) droppedPlace() string { return h.program.Server + " has dropped " + h.program.Place }

// lose releases a lock that was lost, unless a process of the command survives, and reports it. It returns the exit
// status. A command that has not started as far as its guard has said, and may have all the same, counts as Killed.
func (h *hold) lose(fate Fate, survivor int) int {
	why := h.program.Lease + " was not kept alive in time"
	if h.dropped {
		why = h.droppedPlace()
	} else if h.refusal != nil {
		why = h.refusal.Text
	}
	text := "the command was killed"
	switch {
	case survivor != 0:
		text = "process " + strconv.Itoa(survivor) + " of the command cannot be killed and goes on"
	case fate == NotStarted:
		text = "the command was not started"
	case !h.started:
		text = "if the command was started, it was killed"
	}
	if survivor == 0 {
		h.held.Release(context.Background(), End{Fate: fate})
	}
	return h.report(why + "; " + text)
}

func (h *hold) report(what string) int {
	h.printer.Warn("lost the lock " + h.name + ": " + what)
	return failure.ExTempFail
}
