package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

var (
	errUnsure    = errors.New("a COMMIT was not confirmed, or a standby has not confirmed it")
	errReplica   = errors.New("the server is a replica")
	errNoStandby = errors.New("no synchronous standby confirms what is committed") // a COMMIT waits for that
)

// hasCode reports whether an error is of the server, with one of these for its SQLSTATE.
func hasCode(err error, codes ...string) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

// describeVersion returns the error of tables that have another version.
func (w *session) describeVersion(ctx context.Context, database string) error {
	results, err := w.send(ctx, message{"SELECT version FROM flock.server"})
	if err != nil {
		return err
	}
	version, where := number(results[0]), "the tables in the database "+sys.Printable(database)
	if version > schemaVersion {
		return lease.Refused(fmt.Sprintf("%s have version %d, newer than this program, which needs %d: "+
			"install the flock-postgres that belongs to them", where, version, schemaVersion))
	}
	return lease.Refused(fmt.Sprintf("%s have version %d, older than this program, which needs %d: when nobody has a "+
		"lock, create them again: see flock-postgres(1), Tables of another version", where, version, schemaVersion))
}

// isOfReplica reports whether an error is that of a server that follows another one.
func isOfReplica(err error) bool {
	return hasCode(err, "25006", "55000", "0A000") || sys.Is(err, errReplica, pgconn.ErrStandbyConnection)
}

// classify returns the error of an attempt as package lease wants it: a *lease.Unanswered if another attempt may have
// another answer, else one that stays the same however often one asks, with what to do about it.
func (s *store) classify(err error) error {
	var known *lease.Error
	var refusal *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &known), sys.Is(err, lease.ErrLost, lease.ErrTaken):
		return err
	case !errors.As(err, &refusal):
		if s.isHopeless(err) {
			return lease.Misused("cannot connect to " + s.link.Server + ": " + describe(err))
		}
		return &lease.Unanswered{Why: describe(err)}
	case passes(refusal.Code):
		return &lease.Unanswered{Why: describe(err)}
	}
	text := "PostgreSQL refuses: " + describe(refusal)
	switch code := refusal.Code; {
	case code == "42P01" || code == "3F000": // no such table, schema
		return lease.Refused("the tables of flock-postgres are missing in the database " +
			sys.Printable(s.connection.Database) + "\ncreate them once: flock-postgres --schema | psql ...")
	case code == "42501":
		return lease.Denied(text + "\ngrant the rights that flock-postgres --schema shows")
	case code == "28P01" && s.connection.Password == "":
		return lease.Denied(text + "\nno password is set: see PGPASSFILE and PGPASSWORD")
	case strings.HasPrefix(code, "28"):
		return lease.Denied(text)
	}
	return lease.Refused(text)
}

// passes reports whether an error of the server, by its SQLSTATE, may be another one or none the next time: trouble
// with the connection, a conflict of transactions, a lack of resources, a lock that was not had in time, a client that
// was too slow, a server that starts, stops or recovers, or is a replica.
func passes(code string) bool {
	return slices.Contains([]string{"55P03", "25P03", "25P04", "25006", "0A000", "55000"}, code) ||
		slices.Contains([]string{"08", "40", "53", "57", "58"}, code[:min(2, len(code))])
}

// isHopeless reports whether the server can never be connected with these variables: each way that was tried was
// refused by this side, such as for its lack of TLS or the way it wants to be told a password. The library has no
// values for these errors, but a line for each way.
func (s *store) isHopeless(err error) bool {
	ways := strings.Split(err.Error(), "\n")
	if len(ways) > 1 {
		ways = ways[1:] // after the heading
	}
	return !s.link.Reached() && !slices.ContainsFunc(ways, func(way string) bool { return hintFor(way) == "" })
}

// hints say what to change where the text of the library has a sign of that.
var hints = [][2]string{
	{"server refused TLS connection", "it does not speak TLS\nsee PGSSLMODE"},
	{"remote error: tls: ", "it refuses the certificate of this client, or its absence: %s\nsee PGSSLCERT and PGSSLKEY"},
	{"x509: ", "its certificate is refused: %s\nsee PGSSLROOTCERT"},
	{" tls: ", "%s\nsee PGSSLMODE"},
	{"require_auth check failed: ", "%s\nsee PGREQUIREAUTH"},
	{"channel binding required but ", "channel binding is required, but %s\nsee PGCHANNELBINDING"},
	{"sslcertmode check failed: ", "%s\nsee PGSSLCERTMODE"},
}

// hintFor returns the hint for a text; empty: there is none.
func hintFor(text string) string {
	for _, h := range hints {
		if _, why, found := strings.Cut(text, h[0]); found {
			return strings.Replace(h[1], "%s", sys.Printable(why), 1)
		}
	}
	return ""
}

// describe returns the text of an error as one line, without the words of the library around it, and perhaps a hint as
// a second.
func describe(err error) string {
	var ways interface{ Unwrap() []error }
	if errors.As(err, &ways) {
		return describeWays(ways.Unwrap())
	}
	var refusal *pgconn.PgError
	var dns *net.DNSError
	var errno syscall.Errno
	text := err.Error()
	switch {
	case errors.As(err, &refusal):
		text = refusal.Message
		switch refusal.Code {
		case "55P03":
			return "another session keeps a row or table that this lock needs (" + sys.Printable(text) + ")\n" +
				`this lists such sessions: psql -c "SELECT pid, mode FROM pg_locks WHERE relation IN ` +
				`('flock.server'::regclass, 'flock.name'::regclass, 'flock.contender'::regclass)"`
		case "55000", "25006", "0A000":
			text = errReplica.Error() + " (" + text + ")"
		}
	case errors.As(err, &dns):
		text = dns.Error()
	case errors.As(err, &errno):
		text = sys.Text(errno)
	case isOfReplica(err):
		text = errReplica.Error()
	case pgconn.Timeout(err), sys.Is(err, context.DeadlineExceeded, context.Canceled):
		text = "no answer"
	default:
		if hint := hintFor(text); hint != "" {
			return hint
		}
	}
	return sys.Printable(text)
}

// describeWays describes why several ways to connect have failed, without hints if for different reasons: a primary may
// be dead, and its replica refuse. The library begins each with its address, and may try one with TLS, then without.
func describeWays(ways []error) string {
	var reasons, each []string
	for i, way := range ways {
		address, _, _ := strings.Cut(way.Error(), ": ")
		if i+1 < len(ways) && strings.HasPrefix(ways[i+1].Error(), address+": ") {
			continue
		}
		why := describe(way)
		text, _, _ := strings.Cut(why, "\n")
		reasons, each = append(reasons, why), append(each, address+": "+strings.TrimPrefix(text, address+": "))
	}
	if len(slices.Compact(reasons)) == 1 {
		return reasons[0]
	}
	return strings.Join(each, "; ")
}
