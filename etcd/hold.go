//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/flock/etcd/internal/guard"
	"example.org/flock/internal/output"
)

// A hold is the time in which a place has the lock and its command runs.
type hold struct {
	*place
	printer *output.Printer
	guard   *guard.Guard
	signals <-chan os.Signal

	renewed, dropped chan struct{} // what ask tells
	begun            bool          // the guard was told to start the command
	latestStart      time.Duration // of the command
	why              string        // the lock is lost, if it is known

	refusal atomic.Pointer[storeError] // of the last request to keep the lease alive; nil: it was not refused
}

// run runs the command, releases the lock, and returns the exit status.
func (h *hold) run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.renewed, h.dropped = make(chan struct{}, 1), make(chan struct{}, 1)
	go h.keepAlive(ctx)
	if guard.Now()+time.Duration(h.slowness.Load()) < h.limits().Term { // else an answer would come too late
		h.begin()
	}
	// A command that runs for a moment is done before this would be of use.
	defer time.AfterFunc(100*time.Millisecond, func() { h.announceAndWatch(ctx) }).Stop()

	late := time.NewTimer(0)
	for {
		late.Reset(h.limits().End - h.ttl/50 - guard.Now())
		select {
		case r, open := <-h.guard.Reports:
			if !open {
				survivor := h.guard.KillOrphans()
				if sig := h.guard.KilledBy(); slices.Contains(stopping, os.Signal(sig)) {
					return h.stop(sig) // it came before the guard caught it, and so before the command
				}
				h.why = "its guard was killed"
				return h.lose(survivor)
			}
			if r.Started {
				h.started, h.latestStart = true, math.MaxInt64
			}
			if r.Ended {
				h.guard.Close()
				cancel() // the lease is not kept alive any longer
				return h.end(r)
			}
		case sig := <-h.signals:
			switch {
			case !h.begun:
				h.guard.Close()
				return h.stop(sig.(syscall.Signal))
			case !fromKeyboard(sig):
				h.guard.Signal(sig.(syscall.Signal))
			}
		case <-h.renewed:
			h.moveLimits()
		case <-h.dropped:
			h.why = "etcd has dropped its key or its lease"
			if !h.begun {
				return h.lose(0)
			}
			h.guard.Abort()
		case <-late.C:
			h.guard.Kill() // it has had its time
			h.started = h.begun
			return h.lose(h.guard.KillOrphans())
		}
	}
}

// announceAndWatch says who has the lock, and notices when its key is gone.
func (h *hold) announceAndWatch(ctx context.Context) {
	go h.watchOwn(ctx)
	for h.announce(ctx) != nil { // such as when etcd has no space
		select {
		case <-time.After(h.ttl / 5):
		case <-ctx.Done():
			return
		}
	}
}

// begin has the guard start the command.
func (h *hold) begin() {
	token := int64(0)
	if h.mode == exclusive {
		token = h.revision
	}
	h.printer.Flush() // before the command prints
	h.begun, h.latestStart = true, h.limits().Term
	h.guard.Run(h.limits(), token)
}

// stop releases the lock of a command that was not started, and dies by the signal.
func (h *hold) stop(sig syscall.Signal) int {
	h.releaseSoon()
	return (&killed{sig}).die()
}

// moveLimits tells the guard that the lease was kept alive.
func (h *hold) moveLimits() {
	if !h.begun {
		h.begin()
		return
	}
	h.guard.Move(h.limits())
	if guard.Now() > h.latestStart {
		h.guard.Kill() // somebody has stopped it before the command began
	}
}

// end releases the lock when the guard has done its work, and returns the exit status.
func (h *hold) end(r guard.Report) int {
	switch {
	case r.Failure != "":
		h.releaseSoon()
		h.printer.Warn(r.Failure)
		if r.Lacking {
			return output.ExOSErr
		}
		return output.ExUnavailable
	case r.Terminated:
		return h.lose(int(r.Survivor))
	}
	ctx, stop := context.WithTimeout(context.Background(), min(h.ttl, 10*time.Second))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		sig := <-h.signals
		// It may be a second one that came with the first, which the command has got: etcd has time to answer.
		time.AfterFunc(2*time.Second, func() { cancel(&killed{sig.(syscall.Signal)}) })
	}()
	if err := h.prolongCooldown(ctx); err != nil {
		h.printer.Warn(err.Error())
	}
	if err := h.release(ctx); err != nil {
		why := err.Error()
		if k := (*killed)(nil); errors.As(context.Cause(ctx), &k) {
			why = k.Error() + " ended the attempt: " + why
		}
		h.printer.Warn("cannot release the lock " + h.name + ", which ends with its lease: " + why)
	}
	return int(r.Status)
}

// lose releases a lock that was lost, unless a process of the command survives, and reports it. It returns the exit status.
func (h *hold) lose(survivor int) int {
	if h.why == "" {
		h.why = "its lease was not kept alive in time"
		if refusal := h.refusal.Load(); refusal != nil {
			h.why = refusal.Error()
		}
	}
	fate := "the command was killed"
	if !h.started {
		fate = "the command was not started"
	}
	if survivor != 0 {
		fate = "process " + strconv.Itoa(survivor) + " of the command cannot be killed and goes on"
	} else {
		h.releaseSoon()
	}
	h.printer.Warn("lost the lock " + h.name + ": " + h.why + "; " + fate)
	return output.ExTempFail
}

// keepAlive keeps the lease alive. It does not wait for an answer before it asks again, so an etcd that takes a third of the
// TTL for each still answers in time.
func (h *hold) keepAlive(ctx context.Context) {
	for at := h.since(); ; {
		at = max(at+h.ttl/5, guard.Now())
		select {
		case <-ctx.Done():
			return
		case <-time.After(at - guard.Now()):
		}
		go h.ask(ctx)
	}
}

// ask keeps the lease alive once, and tells what it finds. It returns the revision of etcd; 0: there was no answer.
func (h *hold) ask(ctx context.Context) (revision int64) {
	ctx, cancel := context.WithTimeout(ctx, h.ttl*2/5)
	defer cancel()
	v, err := h.renew(ctx)
	var refusal *storeError
	switch {
	case err == nil:
		h.refusal.Store(nil)
		notify(h.renewed)
	case errors.Is(err, errLost):
		notify(h.dropped)
	case errors.As(err, &refusal):
		h.refusal.Store(refusal)
	default:
		h.refusal.Store(nil)
	}
	return v.revision
}

// watchOwn asks at once when the key is gone: because somebody deleted it, or etcd thinks that the lease is over.
func (h *hold) watchOwn(ctx context.Context) {
	var w watcher
	defer w.stop()
	for v := (view{revision: h.revision, watch: h.key}); ctx.Err() == nil; v.revision = max(v.revision, h.ask(ctx)) {
		w.see(ctx, h.store, v)
		w.wait(ctx, forever)
	}
}

// notify tells a receiver that may not listen just now.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
