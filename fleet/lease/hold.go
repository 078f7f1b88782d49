//go:build unix

package lease

import (
	"cmp"
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
	lock    Lock
	life    Life
	started time.Duration // when it began

	renewed chan func() // takes note of a renewal
	refusal string      // of one since the last success; empty: there was none
	hasRun  bool        // the command has started
	warned  bool        // the user knows that the server is silent
	dropped bool        // the server has dropped the lock
}

// deadlines returns until when the command may run.
func (h *hold) deadlines() guard.Deadlines {
	return guard.Deadlines{Term: h.life.at(6), Kill: h.life.at(8), End: h.life.at(9)}
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
		Token: h.lock.Token()})
	h.started, h.renewed = Now(), make(chan func())
	var lost <-chan struct{} // from a moment on: many a command is done before this would be of use
	aMoment, next := time.After(100*time.Millisecond), h.life.at(2)
	for {
		ttl, silent, last := h.life.TTL, h.whenSilent(), h.deadlines().End-h.life.TTL/50
		select {
		case m, open := <-h.reports:
			if !open {
				return h.endOfGuard()
			}
			if m.Kind != guard.Ended && m.Kind != guard.Failed {
				h.hasRun = true
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
			lost = h.lock.Lost()
		case <-until(min(next, silent, last)):
			now := Now()
			if now >= last { // the guard has had its time
				return h.lose(Killed, h.guard.KillAll())
			}
			if now >= silent {
				h.warn(h.link.Why())
			}
			if now >= next {
				next = now + ttl/5
				go h.renew(ctx, ttl*2/5)
			}
		case takeNote := <-h.renewed:
			takeNote()
		case <-lost:
			lost, aMoment, next = nil, time.After(ttl/5), Now()
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
	life, err := h.lock.Renew(limited)
	select {
	case h.renewed <- func() { h.takeNote(life, err) }:
	case <-ctx.Done():
	}
}

// takeNote takes note of what Renew has returned.
func (h *hold) takeNote(life Life, err error) {
	var no *Error
	switch {
	case errors.Is(err, ErrLost):
		h.dropped = true
		h.guard.Give(guard.Message{Kind: guard.Abort})
	case err == nil:
		h.life.Prolong(life)
		if h.refusal = ""; h.warned {
			h.warned = false
			h.note(h.program.Server + " has renewed the lock " + h.name)
		}
		h.guard.Give(guard.Message{Kind: guard.Move, Deadlines: h.deadlines()})
		if h.service.ticks != nil {
			h.service.say("WATCHDOG=1")
		}
	case errors.As(err, &no) && no.Status != failure.ExTempFail:
		if h.refusal = no.Text; !h.warned {
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
	return h.life.at(2) + max(h.life.TTL/5, 2*h.link.Slowness())
}

// warn says that the lock is not renewed and why, before that costs the command its life.
func (h *hold) warn(why string) {
	h.warned = true
	h.note(h.program.Server + " has not renewed the lock " + h.name + " for " + seconds(Now()-h.life.Since) +
		"; the command is terminated in " + seconds(h.deadlines().Term-Now()) + ": " + why)
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(max(d, 0).Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// endOfGuard ends what is left of the command when the guard was killed.
func (h *hold) endOfGuard() int {
	survivor := h.guard.KillAll()
	if !h.hasRun && survivor == 0 {
		release(h.lock, h.cooling(End{Fate: Killed})) // it may have started the command just before
		return h.guardGone("lost")
	}
	h.refusal = "its guard was killed"
	return h.lose(Killed, survivor)
}

// end releases the lock when the guard has done its work, and returns the exit status.
func (h *hold) end(m guard.Message) int {
	switch {
	case m.Kind == guard.Failed:
		err := m.Failure(h.options.Command[0])
		release(h.lock, End{Status: err.Status})
		return h.printer.Fail(err)
	case m.Cause == guard.Lost && !h.hasRun:
		return h.lose(NotStarted, 0)
	case m.Cause == guard.Lost:
		return h.lose(Killed, m.Survivor)
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(h.life.TTL, 10*time.Second))
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
	case !h.hasRun: // a signal came before the start
		end = End{}
	case m.Cause == guard.AtLimit:
		end.Status = guard.StatusAtLimit
	case m.Killed:
		end.Signal = syscall.Signal(m.Number - 128)
	}
	err := h.lock.Release(ctx, h.cooling(end))
	switch {
	case h.dropped || errors.Is(err, ErrLost):
		return h.report(h.droppedPlace() + " while the command ran; the command has ended")
	case err != nil:
		h.printer.Warn("cannot release the lock " + h.name + ", which ends with " + h.program.Lease + ": " + err.Error())
	}
	return h.guard.Status(m)
}

// cooling returns an end with how long the cooldown lasts from now on.
func (h *hold) cooling(end End) End {
	began := Now()
	switch from := h.options.CooldownFrom; {
	case h.options.Cooldown == 0 || end.Fate == NotStarted,
		from == FromSuccess && (end.Fate == Killed || end.Status != 0):
		return end
	case from == FromStart:
		began = h.started
	case end.Fate == Killed: // as if this process had died
		began = h.life.Since
	}
	end.Cools = began + h.options.Cooldown - Now()
	return end
}

func (h *hold) droppedPlace() string { return h.program.Server + " has dropped " + h.program.Place }

// lose releases a lock that was lost, unless a process of the command survives, and reports it. It returns the exit
// status. A command that has not started as far as its guard has said, and may have all the same, counts as Killed.
func (h *hold) lose(fate Fate, survivor int) int {
	why := cmp.Or(h.refusal, h.program.Lease+" was not kept alive in time")
	if h.dropped {
		why = h.droppedPlace()
	}
	text := "the command was killed"
	switch {
	case survivor != 0:
		text = "process " + strconv.Itoa(survivor) + " of the command cannot be killed and goes on"
	case fate == NotStarted:
		text = "the command was not started"
	case !h.hasRun:
		text = "if the command was started, it was killed"
	}
	if survivor == 0 {
		release(h.lock, h.cooling(End{Fate: fate}))
	}
	return h.report(why + "; " + text)
}

func (h *hold) report(what string) int {
	h.printer.Warn("lost the lock " + h.name + ": " + what)
	return failure.ExTempFail
}
