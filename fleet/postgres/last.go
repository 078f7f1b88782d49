package main

import (
	"fmt"
	"strconv"

	"example.org/flock/fleet/lease"
)

// The run that has got a lock last stands in the row of its name: it is written in the transaction in which it gets the
// lock, and its end in the one that deletes its row. Whoever has lost the lock has no row, so there is no end then, nor
// if the command was killed.

// takeLock returns the statement that writes the run of a row that has got its lock. It gives an exclusive one its
// token, which grows although a restored copy of the tables has an old one, and returns that.
func takeLock(key string) string {
	const next = "greatest(n.token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
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

// readLast returns the query for the run that has got a lock last, or those of the locks that a condition names.
func readLast(which string) string {
	return `SELECT to_json(r) FROM (SELECT last_key AS id, last_host AS host, last_pid AS pid, last_username AS user,
	` + unixTime("last_taken") + ` AS since, ` + unixTime("last_ended") + ` AS ended,
	last_status AS status, last_signal AS signal
	FROM flock.name n WHERE last_key IS NOT NULL AND ` + which + `) r`
}
