package main

import (
	"fmt"
	"strconv"
	"time"

	"example.org/flock/fleet/lease"
)

// The run that has got a lock last stands in the row of its name: it is written in the transaction in which it gets the
// lock, and its end in the one that deletes its row. Whoever has lost the lock has no row, so there is no end then, nor
// if the command was killed.

// takeLock returns the statement that writes the run of a row that has got its lock. It gives an exclusive one its
// token, which grows although a restored copy of the tables has an old one, and returns that.
func takeLock(key string) string {
	next := "greatest(n.token + 1, " + microseconds("clock_timestamp()") + ")"
	return `UPDATE flock.name n SET
	(token, last_token) = (SELECT coalesce(t, n.token), t FROM
		(SELECT CASE c.mode WHEN 'exclusive' THEN ` + next + ` END) x (t)),
	last_key = c.key, last_host = c.host, last_pid = c.pid, last_username = c.username, last_taken = c.taken,
	last_ended = NULL, last_status = NULL, last_signal = NULL
	FROM flock.contender c WHERE c.key = '` + key + `' AND n.name = c.name RETURNING last_token`
}

// endRun returns the statement that writes the end of the run of a row, which must still be there, unless another one
// has got the lock since.
func endRun(key string, end lease.End) string {
	orNull := func(n *int) string {
		if n == nil {
			return "NULL"
		}
		return strconv.Itoa(*n)
	}
	status, signal := end.Written()
	return fmt.Sprintf(`UPDATE flock.name n SET last_ended = clock_timestamp(), last_status = %s, last_signal = %s
	FROM flock.contender c WHERE c.key = '%s' AND n.name = c.name AND n.last_key = c.key`,
		orNull(status), orNull(signal), key)
}

// beginList begins a transaction whose statements all see what there is at one moment.
const beginList = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// readLast returns the query for the run that has got a lock last.
func readLast(name string) string {
	return `SELECT last_key, last_host, last_pid, last_username, ` + microseconds("last_taken - 'epoch'") + `,
	` + microseconds("last_ended - 'epoch'") + `, last_status, last_signal
	FROM flock.name n WHERE last_key IS NOT NULL AND ` + is(name)
}

// lastRun reads the answer to readLast; nil: there is no run.
func lastRun(name string, rows [][][]byte) *lease.LastRun {
	if len(rows) == 0 {
		return nil
	}
	r := row(rows[0])
	number := func(i int) *int {
		if r.isNull(i) {
			return nil
		}
		n := int(r.int(i))
		return &n
	}
	last := &lease.LastRun{Contender: lease.Contender{ID: r.text(0), Key: name + "/last", Host: r.text(1),
		PID: int(r.int(2)), User: r.text(3), Since: time.UnixMicro(r.int(4))}, Status: number(6), Signal: number(7)}
	if !r.isNull(5) {
		last.Ended = time.UnixMicro(r.int(5))
	}
	return last
}
