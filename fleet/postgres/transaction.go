package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Each change is one transaction. Before it reads anything of the lock it takes the row of its name, by a write, so the
// changes of a lock come one after the other, and what a later statement reads is what all changes before have left. (A
// single statement would not do: it sees what there was before it had to wait.) A change is on the disk, and on a
// synchronous standby, when it is answered, and with it all that it has seen.
//
// Whoever has a row is in the line. A row comes, goes, and gets its places in a change only. One that has expired
// counts until a change has deleted it: each statement reads the clock anew, so by its own clock a change could leave
// out a row that it has just found alive, while a renewal of that is under way. Only a look leaves out who has
// expired. It lets nobody in: it decides that it is time for a change, or that its own contender is refused or lost.
//
// A renewal is no change, and takes no turn: those who come at once cannot keep a holder from it. It and the deletion
// of the row meet at the lock of that row. The second one waits for the first, and then checks again whether the row
// has expired: see renewal and judge.
//
//	the renewal of a row that expires at 10    a change
//	9.9: locks the row, reads the clock
//	                                           10.1: finds it expired, waits for its lock
//	writes that it expires at 19.9, COMMIT
//	                                           checks the row anew: 19.9, so it stays
//
// All values in the statements are numbers, hexadecimal digits and plain words, so none needs to be quoted.

// A message is statements that are sent together. Each has one result, in the same place.
type message []string

// add appends a statement, and returns its place.
func (m *message) add(statement string) (at int) {
	*m = append(*m, statement)
	return len(*m) - 1
}

// nameLiteral returns a name as a value of type bytea.
func nameLiteral(name string) string {
	return "decode('" + hex.EncodeToString([]byte(name)) + "', 'hex')"
}

// beginChange returns the statements with which the change of a lock begins.
func (s *store) beginChange(name string) message {
	m := s.begin()
	m.add(`INSERT INTO flock.name AS n (name, seq, token) VALUES (` + nameLiteral(name) + `, 1, 0)
	ON CONFLICT (name) DO UPDATE SET seq = n.seq + 1`)
	m.add(meetServer)
	return m
}

// beginRenewal returns those with which the renewal of a holder begins.
func (s *store) beginRenewal() message { return append(s.begin(), meetServer) }

// begin returns the statements with which a transaction begins whose effect must not be lost.
//
// A client that is stopped in between must not keep the others waiting: see the two timeouts. A warning at COMMIT must
// reach this program.
func (s *store) begin() message {
	return message{begin, "SELECT " + s.limit("lock_timeout") + `,
	` + s.limit("idle_in_transaction_session_timeout") + `,
	set_config('client_min_messages', 'warning', true),
	CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN NULL
	ELSE set_config('synchronous_commit', 'on', true) END`, checkVersion}
}

// prepareLook returns those with which a look begins, or a renewal before it. A row or table that somebody keeps does
// not keep it for longer than that.
func (s *store) prepareLook() message {
	return message{"SELECT " + s.limit("lock_timeout"), checkVersion}
}

// limit sets a timeout for a transaction.
func (s *store) limit(name string) string {
	return fmt.Sprintf("set_config('%s', '%d', true)", name, time.Duration(s.ttl.Load()/20).Milliseconds())
}

// meetServer notes that the server is another one than that which has given out locks, if it is. Nobody knows what that
// has done last: this one may be a replica, or a copy of yesterday. Then nobody gets a lock until those who have one by
// the other server have lost that, and the rows of before, whose times are by another clock, live on until then; see
// isDead.
const meetServer = `UPDATE flock.server s SET started = pg_postmaster_start_time(), epoch = epoch + 1,
	quiet = clock_timestamp() + make_interval(secs => ttl) WHERE NOT ` + isTheServer

// schemaVersion is that of the tables.
const schemaVersion = 2

// checkVersion is the statement that fails, and with it all that follows in its message, if the tables have another
// version. It comes before all others, which name columns that another version may not have.
var checkVersion = fmt.Sprintf("SELECT 1 / (version = %d)::integer FROM flock.server", schemaVersion)

// What begins and ends a transaction, whatever is the default for that.
const (
	begin  = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	commit = "COMMIT"

	beginLook = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
	beginList = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" // all its statements see what there is at one moment
)

// isTheServer is the condition that this is the server that has given out locks, by the server's row s. Each start of
// a server is another one, and each promotion was a start. So is one by whose clock the quiet time would now last for
// longer than the TTL, since it was set back, such as soon after it has booted: times of before are of no use.
const isTheServer = `(s.started = pg_postmaster_start_time() AND
	s.quiet <= clock_timestamp() + make_interval(secs => s.ttl))`

// isDead is the condition that a row c has expired by the server's row s: it was not renewed in time or, before the
// quiet time, by this server. When nobody has changed anything yet at this server, the quiet time has not begun.
const isDead = "(" + isTheServer + " AND s.quiet <= s.now AND (c.epoch <> s.epoch OR c.expires <= s.now))"

// theServer is the server's row s, at a moment.
const theServer = "s AS MATERIALIZED (SELECT clock_timestamp() AS now, * FROM flock.server)"

// renewal returns the statement by which a row lives for the TTL from now on, unless it is dead: c locks it, which may
// take a while, and s, which comes from c, reads the clock after that.
func renewal(key string) string {
	return `WITH c AS MATERIALIZED (SELECT key, epoch, expires FROM flock.contender WHERE key = '` + key + `' FOR UPDATE),
s AS MATERIALIZED (SELECT clock_timestamp() AS now, s.* FROM flock.server s, c)
UPDATE flock.contender o SET renewed = s.now, expires = s.now + make_interval(secs => s.ttl), epoch = s.epoch
	FROM s, c WHERE o.key = c.key AND NOT ` + isDead + ` RETURNING s.ttl`
}

// judge returns the statement that removes the rows of a lock that have expired. Those who had the lock leave a
// cooldown, unless that is from a success. Where a renewal is under way it waits for that, and then judges what that
// has left.
func judge(name string) string {
	return `WITH ` + theServer + `,
dead AS (DELETE FROM flock.contender c USING s WHERE c.name = ` + nameLiteral(name) + ` AND ` + isDead + `
	RETURNING CASE c.cools_from WHEN 'start' THEN c.taken ELSE c.renewed END + c.cooldown AS cools,
		c.taken IS NOT NULL AND c.cooldown > '0' AND c.cools_from <> 'success' AS leaves)
UPDATE flock.name n SET cools = greatest(n.cools, (SELECT max(dead.cools) FROM dead WHERE leaves))
	WHERE n.name = ` + nameLiteral(name) + ` AND EXISTS (SELECT FROM dead WHERE leaves)`
}

// read returns the query for the records of a lock, or of those that a condition names, with the contenders for whom
// another one holds.
func read(locks, contenders string) string {
	return `WITH ` + theServer + ` SELECT to_json(r) FROM (SELECT
	s.epoch, s.ttl, extract(epoch FROM s.quiet - s.now) AS quiet, ` + isTheServer + ` AS isTheServer,
	pg_is_in_recovery() AS isReplica,
	encode(n.name, 'base64') AS name, n.seq AS change, extract(epoch FROM n.cools - s.now) AS cools,
	ceil(extract(epoch FROM n.cools))::bigint AS until,
	c.key AS id, c.cooling, c.seq, c.mode, c.permits, c.taken IS NOT NULL AS holds, c.epoch = s.epoch AS isOfServer,
	extract(epoch FROM c.expires - s.now) AS lives, ` + unixTime("coalesce(c.taken, c.came)") + ` AS since,
	c.host, c.pid, c.username AS user
FROM s LEFT JOIN flock.name n ON ` + locks + ` LEFT JOIN flock.contender c ON c.name = n.name AND ` + contenders + `) r`
}

// Which contenders count: in a change those that are there, and in a look those that have not expired.
const thereIs, lives = "true", "NOT " + isDead

// is is the condition for read that it is about one lock.
func is(name string) string { return "n.name = " + nameLiteral(name) }

func unixTime(time string) string { return "floor(extract(epoch FROM " + time + "))::bigint" }

// coolDown returns the statement that has the cooldown of a lock last for so long from now on, if it would be over
// before.
func coolDown(name string, long time.Duration) string {
	return fmt.Sprintf(`UPDATE flock.name SET cools = greatest(cools, clock_timestamp() + make_interval(secs => %f))
	WHERE name = %s`, long.Seconds(), nameLiteral(name))
}

// cureOfCooldown returns the command by which a user ends the cooldown of a lock.
func cureOfCooldown(name string) string {
	literal := "'" + name + "'"
	if !regexp.MustCompile(`^[\w./-]+$`).MatchString(name) {
		literal = nameLiteral(name)
	}
	return `psql -c "UPDATE flock.name SET cools = NULL WHERE name = ` + literal + `"`
}

// wake returns the statement that wakes those waiters of a lock that may be next: those before the first one that wants
// the lock for itself alone, or that one.
func wake(name string) string {
	waits := "FROM flock.contender WHERE taken IS NULL AND name = " + nameLiteral(name)
	return `SELECT pg_notify('flock_' || replace(key::text, '-', ''), '') ` + waits + ` AND
	(seq IS NULL OR seq <= coalesce((SELECT min(seq) ` + waits + ` AND mode = 'exclusive'), 9223372036854775807))`
}

// channel is where the row with the key is woken.
func channel(key string) string { return "flock_" + strings.ReplaceAll(key, "-", "") }

// use is the query how many quarters of the server's connections are in use.
const use = "SELECT 4 * count(datid) / current_setting('max_connections')::integer FROM pg_stat_activity"

// number returns the number that a result has; 0 if it has none.
func number(r *pgconn.Result) (n int64) {
	if len(r.Rows) > 0 {
		n, _ = strconv.ParseInt(string(r.Rows[0][0]), 10, 64)
	}
	return n
}

// decode returns the rows of a result, each of which is an object of JSON.
func decode[T any](r *pgconn.Result) (list []T, err error) {
	for _, row := range r.Rows {
		var one T
		if err := json.Unmarshal(row[0], &one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
