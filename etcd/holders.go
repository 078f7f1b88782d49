//go:build unix

package main

import (
	"context"
	"encoding/json"
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
	keys := s.prefix + "/"
	if s.name != "" {
		keys = strings.TrimSuffix(s.line, "line/")
	}
	r, err := ask(context.Background(), s, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, keys, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	})
	if err != nil {
		return fail(p, err)
	}
	locks := map[string]*lockList{}
	for _, kv := range r.Kvs {
		name, place, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), s.prefix+"/"), "/")
		if locks[name] == nil {
			locks[name] = &lockList{}
		}
		locks[name].add(s, place, kv)
	}
	var rows [][]string
	if sys.IsTerminal(1) {
		rows = append(rows, []string{"HOST", "PID", "MODE", "USER", "SINCE", "KEY"})
	}
	status := 1
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		rows = append(rows, locks[name].rows...)
		if locks[name].held {
			status = 0
		}
	}
	p.Print(output.FormatTable(rows))
	return status
}

// A lockList is the list of those who have one lock or wait for it, in the order of the line.
type lockList struct {
	rows       [][]string
	held       bool
	line       int // how many stand in line
	exclusives int // how many of them are exclusive
}

// add adds what a key says, the next one in order, whose name ends with place.
func (l *lockList) add(s *store, place string, kv *mvccpb.KeyValue) {
	key := sys.Printable(string(kv.Key))
	if place == "cooldown" {
		until := "-"
		if left, ok := s.timeToLive(clientv3.LeaseID(kv.Lease)); ok {
			until = "until " + output.FormatClock(time.Now().Add(left))
		}
		l.rows = append(l.rows, []string{"-", "-", "cooldown", "-", until, key})
		return
	}
	words := strings.Split(place, "/")
	if len(words) != 3 || words[0] != "line" {
		return // it is not ours
	}
	var c contender
	json.Unmarshal(kv.Value, &c)
	m := mode(words[1] + "/")
	has := m == exclusive && l.line == 0 || m == shared && l.exclusives == 0 || m == permit && c.Has
	l.line++
	if m == exclusive {
		l.exclusives++
	}
	word := m.String()
	if has {
		l.held = true
	} else {
		word += " (waiting)"
	}
	l.rows = append(l.rows, []string{sys.Printable(c.Host), strconv.Itoa(c.PID), word, sys.Printable(c.User),
		time.Unix(c.Since, 0).Format(output.Clock), key})
}
