package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/lease"
)

// List implements lease.Backend.
func (s *store) List(ctx context.Context, name string) (lease.Line, *lease.LastRun, error) {
	prefix := s.prefix + "/"
	if name != "" {
		prefix = s.base(name)
	}
	r, err := s.commit(ctx, nil, []clientv3.Op{clientv3.OpGet(prefix, clientv3.WithPrefix())})
	if err != nil {
		return nil, nil, err
	}
	return s.line(r.Responses[0]), s.last(name, r.Responses[0]), nil
}

// line returns the places that keys stand for, in the order in which they were made.
func (s *store) line(answer *etcdserverpb.ResponseOp) (line lease.Line) {
	keys := answer.GetResponseRange().GetKvs()
	slices.SortFunc(keys, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	for _, kv := range keys {
		// NAME line MODE LEASE, or NAME cooldown x LEASE
		words := strings.Split(strings.TrimPrefix(string(kv.Key), s.prefix+"/"), "/")
		words = append(words, "", "", "")
		mode := modeOf(words[1], words[2])
		if mode == "" {
			continue // it is not ours
		}
		var c lease.Contender
		json.Unmarshal(kv.Value, &c) // there is none where only the keys were asked for
		c.Lock, c.Mode, c.ID, c.Key = words[0], mode, words[3], string(kv.Key)
		c.Cure = "etcdctl del '" + strings.ReplaceAll(c.Key, "'", `'\''`) + "'"
		line = append(line, c)
	}
	return line
}

// modeOf returns the mode of a place by the words of its key; empty: it is no place. One in the line for the lock that
// this version does not know keeps out all others.
func modeOf(line, letter string) lease.Mode {
	switch {
	case line == "cooldown":
		return lease.Cooldown
	case line != "line":
		return ""
	case letter == "s":
		return lease.Shared
	case letter == "p":
		return lease.Permit
	}
	return lease.Exclusive
}

// Break implements lease.Backend. A holder that lives writes its cooldown once more when it sees that its lock is lost:
// see confirmCooldown.
func (s *store) Break(ctx context.Context, key string) error {
	at := strings.LastIndex(key, "/") + 1
	base, id := strings.TrimSuffix(key[:at], middles[lease.Exclusive]), key[at:]
	cooldown := base + middles[lease.Cooldown] + id // if it has one
	_, err := s.commit(ctx, nil, []clientv3.Op{clientv3.OpDelete(key), clientv3.OpDelete(cooldown)})
	return err
}
