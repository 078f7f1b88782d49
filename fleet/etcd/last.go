package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/failure"
)

// The run that has got a lock last is written in a key without a lease, PREFIX/NAME/last, so that it is there when
// everything else about it is gone. It costs no lock, and no message where there is one anyway:
//
//	it has the lock   with what is written then, because it has waited or respects the cooldown; if there is nothing,
//	                  a tenth of a second after the command was started
//	its end           in the transaction that deletes its place
//
// Both are on the condition that its place is there, so nothing is written by one that has lost the lock. Then there is
// no end, nor if it is killed.

// A lastRun is the value of that key.
type lastRun struct {
	value
	Key    string `json:"key"`             // of its place
	Token  int64  `json:"token,omitempty"` // of an exclusive holder
	Ended  int64  `json:"ended,omitempty"` // Unix time
	Status *int   `json:"status,omitempty"`
	Signal *int   `json:"signal,omitempty"` // that has killed the command, instead of the status
}

func (r lastRun) String() string {
	text, _ := json.Marshal(r)
	return string(text)
}

func lastKey(base string) string { return base + "last" }

// beginRun writes the run.
func (c *contender) beginRun() clientv3.Op { return clientv3.OpPut(lastKey(c.base), c.run.String()) }

// endRun writes the run with its end, unless another one has got the lock since, which only shared locks and permits
// admit. This one is the last if nothing was written since it had the lock, or else if what is written is its own run.
// (A transaction has no "or": so the second condition is that of another one within.)
func (c *contender) endRun(end lease.End) clientv3.Op {
	key, ended := lastKey(c.base), c.run
	ended.Ended = time.Now().Unix()
	ended.Status, ended.Signal = end.Written()
	put := []clientv3.Op{clientv3.OpPut(key, ended.String())}
	noneSince := clientv3.Compare(clientv3.ModRevision(key), "<", c.heldAt+1)
	isOwn := clientv3.Compare(clientv3.Value(key), "=", c.run.String())
	orIfOwn := clientv3.OpTxn([]clientv3.Cmp{isOwn}, put, nil)
	return clientv3.OpTxn([]clientv3.Cmp{noneSince}, put, []clientv3.Op{orIfOwn})
}

// commitWith makes a transaction that also writes the run. If etcd refuses that, it makes the transaction without: who
// may not write the run, or has no space for it, does not lose the lock for that.
func (c *contender) commitWith(ctx context.Context, run clientv3.Op, conditions []clientv3.Cmp, then []clientv3.Op) (
	*clientv3.TxnResponse, error) {
	r, err := c.commit(ctx, conditions, append([]clientv3.Op{run}, then...))
	if no := (*lease.Error)(nil); errors.As(err, &no) && no.Status != failure.ExTempFail {
		return c.commit(ctx, conditions, then)
	}
	return r, err
}

// last returns the run that has got a lock last, of the keys of that lock; nil: there is none.
func (s *store) last(name string, keys []*mvccpb.KeyValue) *lease.LastRun {
	for _, kv := range keys {
		if string(kv.Key) != lastKey(s.base(name)) {
			continue
		}
		var r lastRun
		json.Unmarshal(kv.Value, &r)
		run := &lease.LastRun{Contender: r.contender(), Status: r.Status, Signal: r.Signal}
		run.ID, run.Key = r.Key[strings.LastIndex(r.Key, "/")+1:], string(kv.Key)
		if r.Ended != 0 {
			run.Ended = time.Unix(r.Ended, 0)
		}
		return run
	}
	return nil
}
