package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
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

func lastKey(base string) string { return base + "last" }

// run returns the value of that key; its Key is that of the place.
func (c *contender) run() lease.LastRun {
	r := lease.LastRun{Contender: c.self, Token: c.Token()}
	r.Key = c.place.key
	return r
}

// beginRun writes the run.
func (c *contender) beginRun() clientv3.Op { return clientv3.OpPut(lastKey(c.base), toJSON(c.run())) }

// endRun writes the run with its end, unless another one has got the lock since, which only shared locks and permits
// admit. This one is the last if nothing was written since it had the lock, or else if what is written is its own run.
// (A transaction has no "or": so the second condition is that of another one within.)
func (c *contender) endRun(end lease.End) clientv3.Op {
	key, ended := lastKey(c.base), c.run()
	ended.Ended = time.Now().Unix()
	ended.Status, ended.Signal = end.Written()
	put := []clientv3.Op{clientv3.OpPut(key, toJSON(ended))}
	noneSince := clientv3.Compare(clientv3.ModRevision(key), "<", c.heldAt+1)
	isOwn := clientv3.Compare(clientv3.Value(key), "=", toJSON(c.run()))
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
func (s *store) last(name string, answer *etcdserverpb.ResponseOp) *lease.LastRun {
	for _, kv := range answer.GetResponseRange().GetKvs() {
		if r := new(lease.LastRun); string(kv.Key) == lastKey(s.base(name)) {
			json.Unmarshal(kv.Value, r)
			r.ID, r.Key = r.Key[strings.LastIndex(r.Key, "/")+1:], string(kv.Key)
			return r
		}
	}
	return nil
}
