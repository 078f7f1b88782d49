//go:build unix

package main

import (
	"context"
	"errors"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/output"
)

// errCooling says that the cooldown of another holder is not over.
var errCooling = errors.New("cooldown")

// awaitCooldown waits for the end of the cooldown, outside of the line.
func (s *store) awaitCooldown(ctx context.Context, p *output.Printer, nonblock bool) error {
	var w watcher
	defer w.stop()
	var cooling clientv3.LeaseID // 0: no cooldown was seen
	for {
		r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
			return c.Get(ctx, s.cooldown)
		})
		if err == nil {
			if len(r.Kvs) == 0 {
				return nil
			}
			cooling = clientv3.LeaseID(r.Kvs[0].Lease)
			if nonblock {
				err = kernlock.ErrConflict
			}
		}
		if err != nil {
			if p.Verbose && cooling != 0 {
				if end := s.cooldownEnd(cooling); end != "-" {
					p.WarnVerbose("cooldown " + end)
				}
			}
			return err
		}
		ttl := time.Duration(s.ttl) * time.Second
		s.noteTaken(ttl)
		w.see(ctx, s, view{revision: r.Header.Revision, watch: s.cooldown})
		w.wait(ctx, ttl*6/10)
	}
}

// cooldownEnd says when a cooldown ends, by its lease, "-" where etcd does not.
func (s *store) cooldownEnd(id clientv3.LeaseID) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseTimeToLiveResponse, error) {
		return c.TimeToLive(ctx, id)
	})
	if err != nil || r.TTL <= 0 {
		return "-"
	}
	return "until " + output.FormatClock(time.Now().Add(time.Duration(r.TTL)*time.Second))
}

// prolongCooldown begins the cooldown anew, if there is one. If that fails, the one that began with the command goes on.
func (l *place) prolongCooldown(ctx context.Context) error {
	before := l.cooling
	if before == nil {
		return nil
	}
	if err := l.putCooldown(ctx); err != nil {
		return errors.New("cannot set the cooldown of " + l.name + ": " + err.Error())
	}
	l.revoke(ctx, before)
	return nil
}

// putCooldown makes the key of the cooldown with a lease of its own, if this place has the lock and the condition holds, and
// writes into the place's key that it has the lock. The error is errCooling if the cooldown of another holder is not over.
func (l *place) putCooldown(ctx context.Context, condition ...clientv3.Cmp) error {
	lease, err := l.grant(ctx, int64(math.Ceil(l.Cooldown.Seconds())))
	if err != nil {
		return err
	}
	key := l.cooldown
	own := clientv3.Compare(clientv3.CreateRevision(l.key), "=", l.revision)
	has := l.describe(true)
	r, err := ask(ctx, l.store, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return c.Txn(ctx).If(append(condition, own)...).
			Then(clientv3.OpPut(key, has, clientv3.WithLease(lease.id)), clientv3.OpPut(l.key, has, clientv3.WithLease(l.id))).
			Else(clientv3.OpGet(l.key), clientv3.OpGet(key)).Commit()
	})
	if err == nil && !r.Succeeded {
		cooldown := r.Responses[1].GetResponseRange().Kvs
		switch {
		case r.Responses[0].GetResponseRange().Count == 0:
			err = errLost
		case len(cooldown) == 0 || cooldown[0].Lease != int64(lease.id): // else an earlier attempt has done it
			err = errCooling
		}
	}
	switch {
	case err == nil:
		l.cooling = lease
	case l.cooling == nil:
		l.revokeSoon(lease) // if the wait was ended, the key may be there
	} // else the cooldown that goes on may have it already
	return err
}
