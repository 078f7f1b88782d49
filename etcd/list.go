//go:build unix

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/lease"
)

var inOrder = []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)}

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (list []lease.Contender, err error) {
	prefix := s.prefix + "/"
	if name != "" {
		prefix = s.base(name)
	}
	r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, prefix, inOrder...)
	})
	if err != nil {
		return nil, err
	}
	list = contenders(s.prefix, r.Kvs)
	for i := range list {
		if list[i].Mode == lease.Cooldown {
			at := slices.IndexFunc(r.Kvs, func(kv *mvccpb.KeyValue) bool { return string(kv.Key) == list[i].Key })
			list[i].Until = s.end(ctx, clientv3.LeaseID(r.Kvs[at].Lease))
		}
	}
	return list, nil
}

// end returns when a lease ends, if etcd says so within a second.
func (s *store) end(ctx context.Context, id clientv3.LeaseID) (at time.Time) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseTimeToLiveResponse, error) {
		return c.TimeToLive(ctx, id)
	})
	if err == nil && r.TTL > 0 {
		at = time.Now().Add(time.Duration(r.TTL) * time.Second)
	}
	return at
}

// A key is one of a lock: NAME/line/MODE/LEASE, NAME/cooldown/x/LEASE or NAME/cooldown.
type key struct {
	name, line, mode, lease string
}

func parseKey(prefix string, kv *mvccpb.KeyValue) (k key) {
	words := append(strings.Split(strings.TrimPrefix(string(kv.Key), prefix+"/"), "/"), "", "", "")
	return key{words[0], words[1], words[2], words[3]}
}

// contenders returns what keys say, which are in the order in which they were made: those of one lock, then those of the
// next one by name.
func contenders(prefix string, keys []*mvccpb.KeyValue) (list []lease.Contender) {
	stands := map[key]bool{}
	for _, kv := range keys {
		stands[parseKey(prefix, kv)] = true
	}
	keys = slices.Clone(keys)
	slices.SortStableFunc(keys, func(a, b *mvccpb.KeyValue) int {
		return strings.Compare(parseKey(prefix, a).name, parseKey(prefix, b).name)
	})
	before := map[key]int{} // how many contenders of a mode there are
	for _, kv := range keys {
		k := parseKey(prefix, kv)
		var r record
		json.Unmarshal(kv.Value, &r)
		c := lease.Contender{Key: string(kv.Key), Host: r.Host, PID: r.PID, User: r.User, Since: time.Unix(r.Since, 0)}
		count := func(mode string) int { return before[key{name: k.name, mode: mode}] }
		switch {
		case k.line == "cooldown" && k.mode == "":
			c.Mode = lease.Cooldown
		case k.line == "cooldown" && stands[key{k.name, "line", k.mode, k.lease}]:
			continue // it is in the next line already
		case k.line == "cooldown":
			c.Mode, c.Waits = lease.Exclusive, true
		case k.line != "line" || k.lease == "":
			continue // it is not ours
		case k.mode == "x":
			c.Mode, c.Waits = lease.Exclusive, count("x")+count("s")+count("p") > 0
		case k.mode == "s":
			c.Mode, c.Waits = lease.Shared, count("x") > 0
		default:
			c.Mode, c.Waits = lease.Permit, !r.Has && (count("x") > 0 || count("p") >= r.Permits)
		}
		if k.line == "line" {
			before[key{name: k.name, mode: k.mode}]++
		}
		list = append(list, c)
	}
	return list
}

// countWaiting returns how many of those with these keys wait.
func countWaiting(prefix string, keys []*mvccpb.KeyValue) (n int) {
	for _, c := range contenders(prefix, keys) {
		if c.Waits {
			n++
		}
	}
	return n
}

// Break implements lease.Backend.
func (s *store) Break(ctx context.Context, key string) error {
	_, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.DeleteResponse, error) {
		return c.Delete(ctx, key)
	})
	return err
}
