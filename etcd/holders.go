//go:build unix

package main

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/internal/output"
	"example.org/flock/internal/sys"
)

// showHolders lists who has the lock and who waits, and returns the exit status: 0 if somebody has it, 1 if nobody does.
func showHolders(p *output.Printer, s *store) int {
	p.UnwrittenStatus = output.ExOSErr
	r, err := ask(context.Background(), s, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		oldestFirst := clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)
		return c.Txn(ctx).Then(clientv3.OpGet(s.line, clientv3.WithPrefix(), oldestFirst), clientv3.OpGet(s.cooldown)).Commit()
	})
	if err != nil {
		return fail(p, err)
	}
	line, cooldown := r.Responses[0].GetResponseRange().Kvs, r.Responses[1].GetResponseRange().Kvs
	status := 1
	var rows [][]string
	if sys.IsTerminal(1) {
		rows = append(rows, []string{"HOST", "PID", "MODE", "USER", "SINCE"})
	}
	exclusives := 0
	for i, kv := range line {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), s.line), "/")
		m := mode(name + "/")
		var c contender
		json.Unmarshal(kv.Value, &c)
		has := m == exclusive && i == 0 || m == shared && exclusives == 0 || m == permit && c.Has
		if m == exclusive {
			exclusives++
		}
		word := m.String()
		if has {
			status = 0
		} else {
			word += " (waiting)"
		}
		rows = append(rows, []string{sys.Printable(c.Host), strconv.Itoa(c.PID), word, sys.Printable(c.User),
			time.Unix(c.Since, 0).Format(output.Clock)})
	}
	if len(cooldown) > 0 {
		until := "-"
		if left, ok := s.timeToLive(clientv3.LeaseID(cooldown[0].Lease)); ok {
			until = "until " + output.FormatClock(time.Now().Add(left))
		}
		rows = append(rows, []string{"-", "-", "cooldown", "-", until})
	}
	p.Print(output.FormatTable(rows))
	return status
}
