//go:build unix && !aix

package lease

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/output"
	"example.org/flock/lease/guard"
)

// A hold is the time in which the lock is held and the command runs.
type hold struct {
	*run
	held Held

	renewed, dropped chan struct{}         // what renew tells
	refusal          atomic.Pointer[error] // of the last request to renew; nil: it was not refused
	answered         time.Duration         // when the server has answered last
	trouble          error                 // why it does not answer; nil: that is not known
	warned           bool                  // that it does not answer
	begun            bool                  // the guard was told to start the command
	started          bool                  // the command has run
	why              string                // the lock is lost, if it is known
}

// limits returns until when the command may run.
func (h *hold) limits() guard.Limits {
	since, ttl := h.held.Life()
	return guard.Limits{Term: since + ttl*6/10, Kill: since + ttl*8/10, End: since + ttl*9/10}
}

// execute runs the command, releases the lock, and returns the exit status.
func (h *hold) execute() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.renewed, h.dropped = make(chan struct{}, 1), make(chan struct{}, 1)
	h.answered = Now()
	go h.keepAlive(ctx)
	since, ttl := h.held.Life()
	if age := Now() - since; age < ttl*3/10 { // else an answer would come too late
		h.begin()
	}
	// A command that runs for a moment is done before this would be of use.
	var lost <-chan struct{}
	aMoment, late := time.After(100*time.Millisecond), time.NewTimer(0)
	for {
		late.Reset(h.limits().End - ttl/50 - Now())
		select {
		case m, open := <-h.guard.Reports:
			if !open {
				return h.endOfGuard()
			}
			if m.Kind == guard.Started {
				h.started = true
				continue
			}
			h.guard.Close()
			cancel() // the lock is not renewed any longer
			return h.end(m)
		case sig := <-h.signals:
			switch {
			case !h.begun && endsWait(sig):
				h.guard.Close()
				release(h.held)
				return die(sig.(syscall.Signal))
			case !fromTerminal(sig):
				h.guard.Give(guard.Message{Kind: guard.Signal, Number: int(sig.(syscall.Signal))})
			}
		case <-aMoment:
			lost = h.held.Lost()
		case <-h.renewed:
			h.moveLimits()
		case h.trouble = <-h.away:
		case <-h.silence():
			h.warn()
		case <-lost:
			lost = nil
			notify(h.dropped)
		case <-h.dropped:
			h.why = h.program + " has dropped its key or its lease"
			if !h.begun {
				return h.lose(0)
			}
			h.guard.Give(guard.Message{Kind: guard.Abort})
		case <-late.C:
			h.started = h.begun // the guard has had its time
			return h.lose(h.guard.KillAll())
		}
	}
}

// begin has the guard start the command.
func (h *hold) begin() {
	h.printer.Flush() // before the command prints
	h.service.say("STATUS=has the lock " + h.name + " since " + time.Now().Format(output.Clock))
	h.begun = true
	h.guard.Give(guard.Message{Kind: guard.Run, Limits: h.limits(), Token: h.held.Token()})
}

// moveLimits tells the guard that the lock was renewed.
func (h *hold) moveLimits() {
	h.service.say("WATCHDOG=1")
	h.answered = Now()
	if h.warned {
		h.warned = false
		h.printer.Note(h.program + " answers again")
	}
	if !h.begun {
		h.begin()
		return
	}
	h.guard.Give(guard.Message{Kind: guard.Move, Limits: h.limits()})
}

// silence tells when it is time to warn.
func (h *hold) silence() <-chan time.Time {
	if !h.begun || h.warned {
		return nil
	}
	_, ttl := h.held.Life()
	return time.After(h.answered + ttl*4/10 - Now())
}

// warn says that the server does not answer, before that costs the command its life.
func (h *hold) warn() {
	h.warned = true
	why := "no answer"
	if h.trouble != nil {
		why = h.trouble.Error()
	}
	h.printer.Note(h.program + " has not answered for " + seconds(Now()-h.answered) + "; the command is stopped in " +
		seconds(h.limits().Term-Now()) + ": " + why)
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(max(d, 0).Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// endOfGuard ends what is left of the command when the guard was killed.
func (h *hold) endOfGuard() int {
	survivor := h.guard.KillAll()
	if !h.started && survivor == 0 {
		release(h.held)
		return h.guardKilled("lost")
	}
	h.why = "its guard was killed"
	return h.lose(survivor)
}

// end releases the lock when the guard has done its work, and returns the exit status.
func (h *hold) end(m guard.Message) int {
	switch {
	case m.Kind == guard.Failed:
		release(h.held)
		h.printer.Warn(m.Text)
		return m.Number
	case m.Terminated:
		return h.lose(m.Survivor)
	}
	_, ttl := h.held.Life()
	ctx, stop := context.WithTimeout(context.Background(), min(ttl, 10*time.Second))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for sig := range h.signals {
			if endsWait(sig) {
				// It may be a second one that came with the first, which the command has got: the server has time to answer.
				time.AfterFunc(2*time.Second, func() { cancel(errors.New(unix.SignalName(sig.(syscall.Signal)) + " ended the attempt")) })
			}
		}
	}()
	err := h.held.Release(ctx, true)
	switch {
	case errors.Is(err, ErrLost):
		return h.report(h.program + " has dropped its key or its lease while the command ran; the command has ended")
	case err != nil:
		why := err.Error()
		if cause := context.Cause(ctx); cause != nil && cause != context.DeadlineExceeded {
			why = cause.Error() + ": " + why
		}
		h.printer.Warn("cannot release the lock " + h.name + ", which ends with its lease: " + why)
	}
	return m.Number
}

// lose releases a lock that was lost, unless a process of the command survives, and reports it. It returns the exit status.
func (h *hold) lose(survivor int) int {
	if h.why == "" {
		h.why = "its lease was not kept alive in time"
		if refusal := h.refusal.Load(); refusal != nil {
			h.why = (*refusal).Error()
		}
	}
	fate := "the command was killed"
	if !h.started {
		fate = "the command was not started"
	}
	if survivor != 0 {
		fate = "process " + strconv.Itoa(survivor) + " of the command cannot be killed and goes on"
	} else {
		release(h.held)
	}
	return h.report(h.why + "; " + fate)
}

func (h *hold) report(what string) int {
	h.printer.Warn("lost the lock " + h.name + ": " + what)
	return output.ExTempFail
}

// keepAlive renews the lock. It does not wait for an answer before it asks again, so a server that takes a third of the TTL
// for each still answers in time.
func (h *hold) keepAlive(ctx context.Context) {
	for at, ttl := h.held.Life(); ; {
		at = max(at+ttl/5, Now())
		select {
		case <-ctx.Done():
			return
		case <-time.After(at - Now()):
		}
		go h.renew(ctx, ttl*2/5)
	}
}

// renew renews the lock once, and tells what it finds.
func (h *hold) renew(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := h.held.Renew(ctx)
	var known *Error
	switch {
	case err == nil:
		h.refusal.Store(nil)
		notify(h.renewed)
	case errors.Is(err, ErrLost):
		notify(h.dropped)
	case errors.As(err, &known) && known.Status != output.ExTempFail:
		h.refusal.Store(&err)
	default:
		h.refusal.Store(nil)
	}
}
