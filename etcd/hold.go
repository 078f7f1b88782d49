//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/etcd/internal/guard"
	"example.org/flock/internal/output"
)

// tokenVariable is set in the environment of an exclusive holder's command, to a number that grows from holder to holder.
const tokenVariable = "FLOCK_TOKEN"

// hold runs the command while the place has the lock, releases the lock, and returns the exit status.
func hold(p *output.Printer, s *store, l *place, g *guard.Guard, signals <-chan os.Signal) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	token := ""
	if l.mode == exclusive {
		token = tokenVariable + "=" + strconv.FormatInt(l.revision, 10)
	}
	p.Flush() // before the command prints
	why := "its lease was not kept alive in time"
	latestStart := l.limits().Term
	if guard.Now() >= latestStart {
		return lose(p, s, l, why, notStarted)
	}
	g.Run(l.limits(), token)
	moved, lost := make(chan struct{}, 1), make(chan struct{}, 1)
	go l.keepAlive(ctx, s, moved, lost)
	// A command that runs for a moment is done before this would be of use.
	defer time.AfterFunc(100*time.Millisecond, func() {
		go l.watchOwn(ctx, s, lost)
		if l.mode != permit { // it has done so
			l.announce(ctx, s)
		}
	}).Stop()

	fate := notStarted
	late := time.NewTimer(time.Hour)
	for {
		late.Reset(l.limits().End - l.ttl/50 - guard.Now())
		select {
		case r, ok := <-g.Reports:
			switch {
			case r.Started:
				fate, latestStart = wasKilled, math.MaxInt64
				continue
			case ok && !r.Ended:
				continue // the command has got SIGTERM
			case !ok:
				why = "its guard was killed"
				r.Survivor = int32(guard.KillOrphans())
			}
			g.Close()
			cancel() // the lease is not kept alive any longer
			switch {
			case r.Failure != "":
				l.giveUp(s)
				p.Warn(r.Failure)
				if r.Lacking {
					return output.ExOSErr
				}
				return output.ExUnavailable
			case !ok || r.Terminated:
				if r.Survivor != 0 {
					fate = "process " + strconv.Itoa(int(r.Survivor)) + " of the command may not be killed and goes on"
				}
				return lose(p, s, l, why, fate)
			}
			l.end(p, s, signals)
			return int(r.Status)
		case sig := <-signals:
			if !fromKeyboard(sig) {
				g.Signal(sig.(syscall.Signal))
			}
		case <-moved:
			g.Move(l.limits())
			if guard.Now() > latestStart {
				g.Kill() // somebody has stopped it before the command began
			}
		case <-lost:
			why = "etcd has dropped its key or its lease"
			g.Abort()
		case <-late.C:
			g.Close()
			cancel()
			g.Kill() // it has had its time
			fate = wasKilled
			if survivor := guard.KillOrphans(); survivor != 0 {
				fate = "process " + strconv.Itoa(survivor) + " of the command could not be killed in time"
			}
			return lose(p, s, l, why, fate)
		}
	}
}

// What has become of the command when the lock was lost.
const (
	notStarted = "the command was not started"
	wasKilled  = "the command was killed"
)

// lose releases a lock that was lost, if the command does not run any more, and reports it. It returns the exit status.
func lose(p *output.Printer, s *store, l *place, why, fate string) int {
	switch fate {
	case notStarted:
		l.giveUp(s)
	case wasKilled:
		releasePromptly(s, l)
	}
	p.Warn("lost the lock " + s.name + ": " + why + "; " + fate)
	return output.ExTempFail
}

// giveUp releases the lock and the cooldown of a command that was not started: somebody else may be able to start it.
func (l *place) giveUp(s *store) {
	if l.cooling != nil {
		releasePromptly(s, l.cooling)
	}
	releasePromptly(s, l)
}

// end releases the lock after the command has ended, and begins the cooldown. A signal ends the attempt.
func (l *place) end(p *output.Printer, s *store, signals <-chan os.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), min(l.ttl, 10*time.Second))
	defer cancel()
	go func() {
		<-signals
		cancel()
	}()
	var err error
	if l.cooling != nil {
		err = l.prolongCooldown(ctx, s)
	}
	l.release(ctx, s)
	if err != nil {
		p.Warn(err.Error())
	}
}

// keepAlive keeps the lease alive. It does not wait for the answer of one member before it asks the next one, since it may
// be frozen.
func (l *place) keepAlive(ctx context.Context, s *store, moved, lost chan<- struct{}) {
	tick := time.NewTicker(l.ttl / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.useAll()
		if guard.Now()-l.since() < l.ttl/5 {
			continue
		}
		go func() {
			ctx, cancel := context.WithTimeout(ctx, l.ttl)
			defer cancel()
			switch err := l.renew(ctx, s.client, s); {
			case err == nil:
				notify(moved)
			case errors.Is(err, errLost):
				notify(lost)
			}
		}()
	}
}

// watchOwn tells when the key is gone: because somebody deleted it, or etcd thinks that the lease is over.
func (l *place) watchOwn(ctx context.Context, s *store, lost chan<- struct{}) {
	next := l.revision + 1
	for ctx.Err() == nil {
		for r := range s.client.Watch(clientv3.WithRequireLeader(ctx), l.key, clientv3.WithRev(next), clientv3.WithFilterPut()) {
			if len(r.Events) > 0 {
				notify(lost)
				return
			}
			next = max(next, r.CompactRevision) // what etcd has forgotten, keepAlive sees
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.ttl / 10):
		}
	}
}

// notify tells a receiver that may not listen just now.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
