package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease"
)

// TestClassify has errors of the server by their SQLSTATE, as its manual has them (appendix A), and others.
func TestClassify(t *testing.T) {
	s := &store{config: config{connection: &pgconn.Config{Database: "fleet"}}, link: &lease.Link{}}
	for code, status := range map[string]int{
		"08006": 0, // connection_failure
		"40001": 0, // serialization_failure
		"40P01": 0, // deadlock_detected
		"53300": 0, // too_many_connections
		"53100": 0, // disk_full
		"55P03": 0, // lock_not_available
		"57P01": 0, // admin_shutdown
		"57P03": 0, // cannot_connect_now
		"57014": 0, // query_canceled
		"58030": 0, // io_error
		"25006": 0, // read_only_sql_transaction
		"25P03": 0, // idle_in_transaction_session_timeout
		"55000": 0, // recovery is in progress
		"0A000": 0, // cannot set transaction read-write mode during recovery
		"28P01": 66,
		"28000": 66,
		"42501": 66,
		"3D000": 65,
		"42P01": 65,
		"3F000": 65,
		"42703": 65,
		"22000": 65,
		"XX000": 65,
	} {
		err := s.classify(&pgconn.PgError{Code: code, Message: "no"})
		var again *lease.Unanswered
		var final *lease.Error
		switch {
		case errors.As(err, &again) && status == 0:
		case errors.As(err, &final) && final.Status == status:
		default:
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, err := range []error{context.DeadlineExceeded, errUnsure, errReplica, errors.New("EOF")} {
		if again := (*lease.Unanswered)(nil); !errors.As(s.classify(err), &again) {
			t.Errorf("%v is final", err)
		}
	}
	for _, err := range []error{lease.ErrLost, lease.ErrTaken, lease.Unavailable("no")} {
		if s.classify(err) != err {
			t.Errorf("%v became %v", err, s.classify(err))
		}
	}
}

// TestIsHopeless has what a connection by TLS can end with, and where that is not certain to stay so.
func TestIsHopeless(t *testing.T) {
	s := &store{link: &lease.Link{}}
	const failed, at = "failed to connect to `user=cron database=fleet`:", "10.0.0.1:5432 (db1): "
	const refusesTLS = at + "tls error: server refused TLS connection"
	for text, want := range map[string]bool{
		" " + refusesTLS: true,
		" " + at + "tls error: tls: failed to verify certificate: x509: certificate signed by unknown authority": true,
		" " + at + "dial error: connection refused":                                                              false,
		" " + at + "tls error: tls: failed to verify certificate: x509: certificate is valid for db1, not db2":   true,
		"\n\t" + refusesTLS + "\n\t" + at + "failed to receive message: unexpected EOF":                          false,
	} {
		if got := s.isHopeless(errors.New(failed + text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestHints has what the library says, and what the user is told.
func TestHints(t *testing.T) {
	const at = "10.0.0.1:5432 (db1): tls error: "
	for _, c := range []struct{ text, want string }{
		{at + "server refused TLS connection", "it does not speak TLS\nsee PGSSLMODE"},
		{at + "tls: failed to verify certificate: x509: certificate signed by unknown authority",
			"its certificate is refused: certificate signed by unknown authority\nsee PGSSLROOTCERT"},
		{at + "remote error: tls: unknown certificate authority", "it refuses the certificate of this client, " +
			"or its absence: unknown certificate authority\nsee PGSSLCERT and PGSSLKEY"},
		{"10.0.0.1:5432 (db1): require_auth check failed: authentication method requirement \"md5\" failed: " +
			"server did not complete authentication", "authentication method requirement \"md5\" failed: " +
			"server did not complete authentication\nsee PGREQUIREAUTH"},
		{"10.0.0.1:5432 (db1): channel binding check failed: channel binding required but server did not " +
			"authenticate using channel binding", "channel binding is required, but server did not authenticate " +
			"using channel binding\nsee PGCHANNELBINDING"},
		{"10.0.0.1:5432 (db1): sslcertmode check failed: server did not request an SSL certificate",
			"server did not request an SSL certificate\nsee PGSSLCERTMODE"},
		{"unexpected EOF", "unexpected EOF"},
	} {
		if got := describe(errors.New(c.text)); got != c.want {
			t.Errorf("%s: %s", c.text, got)
		}
	}
}

// TestDescribeWays has what several ways to connect have failed by. What they have in common is said once.
func TestDescribeWays(t *testing.T) {
	at := func(host string, err error) error { return fmt.Errorf("%s:5432 (%[1]s): dial error: %w", host, err) }
	noTLS := errors.New("tls error: server refused TLS connection")
	lookup := &net.DNSError{Err: "no such host", Name: "db0"}
	for want, ways := range map[string][]error{
		"Connection refused": {at("::1", syscall.ECONNREFUSED), at("127.0.0.1", syscall.ECONNREFUSED)},
		"db1:5432 (db1): Connection refused; db2:5432 (db2): the server is a replica": {at("db1", noTLS),
			at("db1", syscall.ECONNREFUSED), at("db2", noTLS), at("db2", pgconn.ErrStandbyConnection)},
		"lookup db0: no such host; db2:5432 (db2): no answer": {lookup, lookup, at("db2", context.DeadlineExceeded)},
		"it does not speak TLS\nsee PGSSLMODE":                {at("db1", noTLS), at("db2", noTLS)},
	} {
		if got := describe(errors.Join(ways...)); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}
