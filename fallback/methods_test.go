package fallback

import (
	"context"
	"errors"
)

// What the tests ask for, in one word.

func (l *Lock) Lock(ctx context.Context) error  { return l.Acquire(ctx, Request{Mode: Exclusive}) }
func (l *Lock) RLock(ctx context.Context) error { return l.Acquire(ctx, Request{Mode: Shared}) }

func (l *Lock) Permit(ctx context.Context, n int) error {
	return l.Acquire(ctx, Request{Mode: Permit, Permits: n})
}

func (l *Lock) TryLock() error        { return l.try(Request{Mode: Exclusive}) }
func (l *Lock) TryRLock() error       { return l.try(Request{Mode: Shared}) }
func (l *Lock) TryPermit(n int) error { return l.try(Request{Mode: Permit, Permits: n}) }

func (l *Lock) try(r Request) error {
	r.Try = true
	return l.Acquire(context.Background(), r)
}

func isLocked(err error) bool { return errors.As(err, new(*LockedError)) }
