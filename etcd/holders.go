//go:build unix

package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// showHolders lists who has the lock and who waits, of the store's lock or, if that has no name, of all. It returns the exit
// status: 0 if somebody has it, 1 if nobody does.
func showHolders(p *output.Printer, s *store) int {
	p.UnwrittenStatus = output.ExOSErr
	keys, err := s.keys(context.Background())
	if err != nil {
		return fail(p, err)
	}
	locks := map[string][]*mvccpb.KeyValue{}
	for _, kv := range keys {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), s.prefix+"/"), "/")
		locks[name] = append(locks[name], kv)
	}
	var rows [][]string
	status := 1
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		for _, l := range s.listings(locks[name]) {
			rows = append(rows, s.row(l))
			if l.holds() {
				status = 0
			}
		}
	}
	p.PrintTable([]string{"HOST", "PID", "MODE", "USER", "SINCE", "KEY"}, rows)
	return status
}

// keys returns all keys of the store's lock or, if that has no name, of all locks, in the order in which they were made.
func (s *store) keys(ctx context.Context) ([]*mvccpb.KeyValue, error) {
	prefix := s.prefix + "/"
	if s.name != "" {
		prefix = strings.TrimSuffix(s.line, "line/")
	}
	r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, prefix, inOrder...)
	})
	if err != nil {
		return nil, err
	}
	return r.Kvs, nil
}

var inOrder = []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)}

// A listing is what a key of a lock says.
type listing struct {
	contender
	key   string
	mode  mode // cooling: the key of the cooldown
	lease clientv3.LeaseID
	waits bool
}

const cooling mode = "cooldown"

func (l listing) holds() bool { return l.mode != cooling && !l.waits }

// listings returns what the keys of one lock say, which are in order.
func (s *store) listings(keys []*mvccpb.KeyValue) (list []listing) {
	line, exclusives, permits, permitWaits := 0, 0, 0, false
	for _, kv := range keys {
		l := listing{key: sys.Printable(string(kv.Key)), lease: clientv3.LeaseID(kv.Lease)}
		words := strings.Split(strings.TrimPrefix(string(kv.Key), s.prefix+"/"), "/")
		switch {
		case len(words) == 2 && words[1] == "cooldown":
			l.mode = cooling
		case len(words) == 4 && words[1] == "line":
			l.contender = parseContender(kv)
			l.mode = mode(words[2] + "/")
			switch l.mode {
			case exclusive:
				l.waits = line > 0 || l.Cools && !l.Has
				exclusives++
			case shared:
				l.waits = exclusives > 0
			default:
				if !l.Has {
					permitWaits = permitWaits || exclusives > 0 || permits >= l.Permits // nobody overtakes
					l.waits = permitWaits
				}
				permits++
			}
			line++
		default:
			continue // it is not ours
		}
		list = append(list, l)
	}
	return list
}

// countWaiting returns how many of those with these keys, which are in order, wait.
func (s *store) countWaiting(keys []*mvccpb.KeyValue) (n int) {
	for _, l := range s.listings(keys) {
		if l.waits {
			n++
		}
	}
	return n
}

// row returns a row for --holders.
func (s *store) row(l listing) []string {
	if l.mode == cooling {
		return []string{"-", "-", "cooldown", "-", s.cooldownEnd(l.lease), l.key}
	}
	word := l.mode.String()
	if l.waits {
		word += " (waiting)"
	}
	return []string{sys.Printable(l.Host), strconv.Itoa(l.PID), word, sys.Printable(l.User),
		time.Unix(l.Since, 0).Format(output.Clock), l.key}
}

// state says why the lock cannot be had, for --report, as far as that is known in a second.
func (s *store) state() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	keys, _ := s.keys(ctx)
	var holders []listing
	cooldown := ""
	for _, l := range s.listings(keys) {
		if l.holds() {
			holders = append(holders, l)
		} else if l.mode == cooling {
			cooldown = s.cooldownEnd(l.lease)
		}
	}
	switch {
	case len(holders) == 0 && cooldown != "":
		return "in its cooldown " + cooldown
	case len(holders) == 0:
		return "held by another process"
	}
	first := slices.MinFunc(holders, func(a, b listing) int { return cmp.Compare(a.Since, b.Since) })
	text := sys.Printable("held by process " + strconv.Itoa(first.PID) + " of " + first.User + " on " + first.Host)
	if age := time.Since(time.Unix(first.Since, 0)); age > 0 {
		text += ", running for " + output.FormatAge(age)
	}
	if n := len(holders) - 1; n > 0 {
		text += ", and " + strconv.Itoa(n) + " more"
	}
	return text
}
