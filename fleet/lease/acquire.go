//go:build unix

package lease

import (
	"context"
	"time"
)

// A Lock is one that a contender asks for, or has. First come Steps, with a Wait between two of them.
type Lock interface {
	// Step takes a place in the line if that is due, or looks whether somebody is still before the one that it has, and
	// renews that if it is to. It returns who keeps the contender out; nobody: it has the lock. The error is ErrTaken
	// if Claim.Refused says so, that of Link.Unreachable if the context's time is over, or ErrLost if its place was
	// lost.
	Step(ctx context.Context, renews bool) (out Line, life Life, err error)

	// Wait waits until another Step may say something else, for until on the clock of Now, or for the end of the
	// context.
	Wait(ctx context.Context, until time.Duration)

	// Token returns a number that grows from one exclusive holder to the next; 0: there is none.
	Token() int64

	// Renew makes the server keep the lock, and the cooldown that began with it, for the TTL from now on. It may be
	// called while another call is under way. The error is ErrLost if somebody else may have the lock already.
	Renew(ctx context.Context) (Life, error)

	// Lost tells when the lock may be lost, if the server reports that by itself; then Renew says whether it is. It is
	// called when the command has run for a moment, and again if the lock was not lost.
	Lost() <-chan struct{}

	// Release releases the lock, or gives up what was asked for, and unless the run was Killed, writes how it ended. If
	// the lock was lost while the command ran, it does not write that, and returns ErrLost.
	Release(ctx context.Context, end End) error
}

// A Life is for how long the server keeps a place or a lock, and since when, on the clock of Now: from just before the
// last request was sent that the server has answered. The zero value is shorter than all others.
type Life struct{ Since, TTL time.Duration }

// Prolong makes it another one, if that is over later.
func (l *Life) Prolong(other Life) {
	if other.at(10) > l.at(10) {
		*l = other
	}
}

// at returns when a part of it is over, in tenths.
func (l Life) at(tenths time.Duration) time.Duration { return l.Since + l.TTL*tenths/10 }

// Acquire waits for a lock. If it returns an error, it has given up all that it has asked for. The error is ErrLost if
// its place was lost meanwhile.
func Acquire(ctx context.Context, l *Link, b Backend, c Claim) (Lock, Life, error) {
	l.see(nil)
	lock := b.Contend(c)
	life, err := enter(ctx, l, lock, c)
	if err != nil {
		release(lock, End{})
		return nil, life, err
	}
	return lock, life, nil
}

// enter waits until nobody keeps a contender out. It renews its place by each look after four tenths of the TTL, and
// looks after six at the latest: most waiters look in between anyway, when the place before theirs may have ended.
func enter(ctx context.Context, l *Link, lock Lock, c Claim) (life Life, err error) {
	for {
		out, renewed, err := lock.Step(ctx, Now() >= life.at(4))
		life.Prolong(renewed)
		switch {
		case err != nil:
			return life, err
		case len(out) == 0:
			return freshen(ctx, lock, life)
		case c.NeverWaits() && len(out.Known()) > 0:
			return life, ErrTaken
		}
		l.KeptOut(out)
		lock.Wait(ctx, life.at(6))
		if ctx.Err() != nil {
			return life, l.Unreachable(ctx)
		}
	}
}

// freshen renews a lock if so much of its TTL is over that the next answer may come too late.
func freshen(ctx context.Context, lock Lock, life Life) (Life, error) {
	if Now() < life.at(3) {
		return life, nil
	}
	life, err := lock.Renew(ctx)
	if err == nil && Now() >= life.at(3) {
		err = ErrLost
	}
	return life, err
}

// release releases a lock, or what was asked for, in a second at most: nobody should have to wait for that.
func release(lock Lock, end End) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lock.Release(ctx, end)
}
