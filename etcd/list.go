package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/lease"
)

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (list []lease.Contender, err error) {
	prefix := s.prefix + "/"
	if name != "" {
		prefix = s.base(name)
	}
	r, err := s.commit(ctx, nil, []clientv3.Op{clientv3.OpGet(prefix, clientv3.WithPrefix())})
	if err != nil {
		return nil, err
	}
	return contenders(s.prefix, r.Responses[0].GetResponseRange().Kvs), nil
}

// contenders returns what keys say: those of one lock in the order in which they were made, then those of the next one by
// name.
func contenders(prefix string, keys []*mvccpb.KeyValue) (list []lease.Contender) {
	words := func(kv *mvccpb.KeyValue) []string { // NAME line MODE LEASE, or NAME cooldown x LEASE
		return append(strings.Split(strings.TrimPrefix(string(kv.Key), prefix+"/"), "/"), "", "", "")
	}
	slices.SortFunc(keys, func(a, b *mvccpb.KeyValue) int {
		return cmp.Or(strings.Compare(words(a)[0], words(b)[0]), cmp.Compare(a.CreateRevision, b.CreateRevision))
	})
	before := map[string]int{} // how many contenders there are, by name and mode
	for _, kv := range keys {
		w := words(kv)
		var r record
		json.Unmarshal(kv.Value, &r)
		c := lease.Contender{Key: string(kv.Key), Host: r.Host, PID: r.PID, User: r.User, Since: time.Unix(r.Since, 0), Mode: lease.Exclusive}
		x, s, p := before[w[0]+"/x"], before[w[0]+"/s"], before[w[0]+"/p"]
		switch where := w[1] + "/" + w[2]; {
		case where == "cooldown/x" && r.Until != 0:
			c.Mode, c.Until = lease.Cooldown, time.Unix(r.Until, 0)
		case where == "cooldown/x":
			c.Waits = true
		case where == "line/x":
			c.Waits = x+s+p > 0
		case where == "line/s":
			c.Mode, c.Waits = lease.Shared, x > 0
		case where == "line/p":
			c.Mode, c.Waits = lease.Permit, x > 0 || p >= r.Permits
		default:
			continue // it is not ours
		}
		if w[1] == "line" {
			before[w[0]+"/"+w[2]]++
			inFirst := prefix + "/" + w[0] + "/cooldown/x/" + w[3] // its place in the first line
			list = slices.DeleteFunc(list, func(c lease.Contender) bool { return c.Key == inFirst })
		}
		list = append(list, c)
	}
	return list
}

// Break implements lease.Backend.
func (s *store) Break(ctx context.Context, key string) error {
	_, err := s.commit(ctx, nil, []clientv3.Op{clientv3.OpDelete(key)})
	return err
}
