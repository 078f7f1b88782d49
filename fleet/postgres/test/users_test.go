//go:build linux

package test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// TestErrors has all that can be wrong with the variables and the server: a line for each.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 5)
	hba := "local all postgres trust\nhost all all 127.0.0.0/8 scram-sha-256\n"
	if err := os.WriteFile(s.Dir()+"/data/pg_hba.conf", []byte(hba), 0o600); err != nil {
		t.Fatal(err)
	}
	sql(t, s, "SELECT pg_reload_conf()")
	sql(t, s, "ALTER ROLE cron PASSWORD 'geheim'; CREATE ROLE bob LOGIN PASSWORD 'geheim'")
	sql(t, s, "CREATE DATABASE empty")
	at := "PGHOST=" + s.Host
	const address = "postgres://cron:geheim@"
	leasetest.Await(t, "the password to be asked for", func() bool {
		return to(s).Run(t, flockPostgres, "--holders").Status == 66
	})
	for _, c := range []struct {
		what   string
		env    []string
		status int
		text   string
	}{
		{"no host", []string{"PGDATABASE=postgres"}, 64,
			"the host of PostgreSQL is not named\nflock-postgres: set PGHOST and PGDATABASE, PGSERVICE, or FLOCK_POSTGRES_URL"},
		{"no host in the URL", []string{"FLOCK_POSTGRES_URL=postgres:///postgres"}, 64,
			"the host of PostgreSQL is not named"},
		{"an empty host", []string{"PGHOST=,db1", "PGDATABASE=postgres"}, 64, "the host of PostgreSQL is not named"},
		{"no database", []string{at}, 64,
			"the database is not named\nflock-postgres: set PGDATABASE, PGSERVICE, or FLOCK_POSTGRES_URL"},
		{"no URL", []string{"FLOCK_POSTGRES_URL=db1/fleet"}, 64,
			"invalid FLOCK_POSTGRES_URL: it must begin with postgres://"},
		{"a wrong URL", []string{"FLOCK_POSTGRES_URL=postgres://cron:gehe:im@db1:x/fleet"}, 64,
			"invalid FLOCK_POSTGRES_URL: not a connection URI"},
		{"an unknown service", []string{"PGSERVICE=fleet"}, 64,
			"invalid PG* variables or service: failed to read service"},
		{"an unknown variable", []string{at, "PGDATABASE=postgres", "FLOCK_POSTGRES_TTL=5"}, 64,
			"invalid FLOCK_POSTGRES_TTL: this variable is not supported"},
		{"another address", []string{at, "PGDATABASE=postgres", "PGHOSTADDR=127.0.0.1"}, 64,
			"invalid PGHOSTADDR: this variable is not supported"},
		{"wrong port", []string{at, "PGPORT=1", "PGDATABASE=postgres", "PGCONNECT_TIMEOUT=1"}, 75,
			"cannot reach PostgreSQL at " + s.Host + ":1 in time: Connection refused"},
		{"wrong host", []string{"PGHOST=nowhere.invalid", "PGDATABASE=postgres", "PGCONNECT_TIMEOUT=1"}, 75,
			"cannot reach PostgreSQL at nowhere.invalid:5432 in time: lookup nowhere.invalid"},
		{"no password", []string{at, "PGDATABASE=postgres", "PGUSER=cron"}, 66,
			`PostgreSQL refuses: password authentication failed for user "cron"` +
				"\nflock-postgres: no password is set: see PGPASSFILE and PGPASSWORD"},
		{"wrong password", []string{at, "PGDATABASE=postgres", "PGUSER=cron", "PGPASSWORD=x"}, 66,
			`PostgreSQL refuses: password authentication failed for user "cron"`},
		{"wrong database", []string{"FLOCK_POSTGRES_URL=" + address + s.Host + "/nothing"}, 65,
			`PostgreSQL refuses: database "nothing" does not exist`},
		{"no tables", []string{"FLOCK_POSTGRES_URL=" + address + s.Host + "/empty"}, 65,
			"the tables of flock-postgres are missing in the database empty" +
				"\nflock-postgres: create them once: flock-postgres --schema | psql ..."},
		{"no right", []string{at, "PGDATABASE=postgres", "PGUSER=bob", "PGPASSWORD=geheim"}, 66,
			"PostgreSQL refuses: permission denied for schema flock" +
				"\nflock-postgres: grant the rights that flock-postgres --schema shows"},
		{"no TLS", []string{"FLOCK_POSTGRES_URL=" + address + s.Host + "/postgres?sslmode=require"}, 64,
			"cannot connect to PostgreSQL at " + s.Host + ":5432: it does not speak TLS\nflock-postgres: see PGSSLMODE"},
		{"another way to ask for the password", []string{at, "PGDATABASE=postgres", "PGUSER=cron", "PGPASSWORD=geheim",
			"PGREQUIREAUTH=md5"}, 64, "cannot connect to PostgreSQL at " + s.Host + `:5432: authentication method ` +
			`requirement "md5" failed: server requested scram-sha-256 authentication` +
			"\nflock-postgres: see PGREQUIREAUTH"},
		{"no channel binding", []string{at, "PGDATABASE=postgres", "PGUSER=cron", "PGPASSWORD=geheim",
			"PGCHANNELBINDING=require"}, 64, "cannot connect to PostgreSQL at " + s.Host +
			":5432: channel binding is required, but server does not support SCRAM-SHA-256-PLUS" +
			"\nflock-postgres: see PGCHANNELBINDING"},
		{"right", []string{"FLOCK_POSTGRES_URL=" + address + s.Host + "/postgres"}, 0, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := append(leasetest.Environment{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C"}, c.env...)
			p := e.Run(t, flockPostgres, "-n", leasetest.LockName(t), "true")
			text := p.Err.String()
			isLine := c.text == "" && text == "" ||
				strings.HasPrefix(text, "flock-postgres: "+c.text) && strings.Count(text, "\n") <= 2
			if p.Status != c.status || !isLine || strings.Contains(text, "geheim") {
				t.Errorf("status %d, expected %d: %sexpected %s", p.Status, c.status, text, c.text)
			}
		})
	}
	t.Run("password file", func(t *testing.T) {
		file := t.TempDir() + "/pass"
		if err := os.WriteFile(file, []byte(s.Host+":5432:postgres:cron:geheim\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		e := to(s, "PGPASSFILE="+file)
		const ignored = " is ignored: other users can access it\n" +
			"flock-postgres: chmod 600 it\n"
		e.Run(t, flockPostgres, "name", "true").Check(t, 66, "", "flock-postgres: the password file "+file+ignored+
			"flock-postgres: PostgreSQL refuses: password authentication failed for user \"cron\"\n"+
			"flock-postgres: no password is set: see PGPASSFILE and PGPASSWORD\n")
		append(e, "FLOCK_POSTGRES_URL="+address+s.Host+"/postgres").
			Run(t, flockPostgres, "name", "echo", "in").Check(t, 0, "in\n", "")
		os.Chmod(file, 0o600)
		e.Run(t, flockPostgres, "name", "sh", "-c", "echo $PGPASSFILE").Check(t, 0, file+"\n", "")
	})
	t.Run("service", func(t *testing.T) {
		file := t.TempDir() + "/service"
		text := "[fleet]\nhost=" + s.Host + "\ndbname=postgres\nuser=cron\npassword=geheim\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		leasetest.Environment{"PATH=/usr/bin:/bin", "PGSERVICE=fleet", "PGSERVICEFILE=" + file}.
			Run(t, flockPostgres, leasetest.LockName(t), "echo", "in").Check(t, 0, "in\n", "")
	})
}

// TestVersion has tables of other versions, which lack a column that this program asks for, with a holder. All that can
// be asked is refused, and changes nothing.
func TestVersion(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 10)
	sql(t, s, `INSERT INTO flock.name VALUES ('name', 1, 0);
		INSERT INTO flock.contender VALUES (gen_random_uuid(), 'name', NULL, 1, 'exclusive', 0, '0', 'end',
			now(), now(), now(), now() + interval '1 day', 1, 'h', 1, 'u');
		ALTER TABLE flock.contender DROP COLUMN cools_from`)
	for version, text := range map[int]string{
		1: "the tables in the database postgres have version 1, older than this program, which needs 2: " +
			"when nobody has a lock, create them again: see flock-postgres(1), Tables of another version",
		3: "the tables in the database postgres have version 3, newer than this program, which needs 2: " +
			"install the flock-postgres that belongs to them",
	} {
		sql(t, s, fmt.Sprint("UPDATE flock.server SET version = ", version))
		for _, words := range []string{"name true", "-n name true", "--holders", "--break name"} {
			to(s).Run(t, append([]string{flockPostgres}, strings.Fields(words)...)...).
				Check(t, 65, "", "flock-postgres: "+text+"\n")
		}
	}
	const left = "SELECT (SELECT count(*) FROM flock.contender), (SELECT seq FROM flock.name)"
	if rows := sql(t, s, left); rows[0] != "1 1" {
		t.Errorf("rows of contenders, and the number of the last change: %s", rows[0])
	}
}

// TestSchema compares what --schema prints with the file.
func TestSchema(t *testing.T) {
	t.Parallel()
	leasetest.Environment{}.Run(t, flockPostgres, "--schema").Check(t, 0, leasetest.Read("../schema.sql"), "")
}

// TestSilentServer has the server be silent before and after its first answer, for all that can be asked.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := ownServer(t, 5)
	h := to(s).Hold(t, flockPostgres, "name")
	for _, words := range []string{"-n name true", "--holders name", "--break name", "other true"} {
		way := proxyTo(t, s)
		way.BlackHole()
		began := time.Now()
		p := by(way, "PGCONNECT_TIMEOUT=1").Run(t, append([]string{flockPostgres}, strings.Fields(words)...)...)
		p.Check(t, 75, "", "flock-postgres: cannot reach PostgreSQL at 127.0.0.1:"+way.Port+" in time: no answer\n")
		if d := time.Since(began); d > 3*time.Second+allowance {
			t.Errorf("%s: %v", words, d)
		}
	}
	way := proxyTo(t, s)
	w := by(way).Start(t, flockPostgres, "name", "echo", "in")
	leasetest.Await(t, "an answer to both", func() bool {
		return sql(t, s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flock-postgres' "+
			"AND state_change < now() - interval '300 ms'")[0] == "2"
	})
	// On a busy machine it may have said all that before, too.
	const silent = "flock-postgres: requests to PostgreSQL fail; the wait for name goes on: no answer\n"
	const answers = "flock-postgres: PostgreSQL answers again\n"
	way.BlackHole()
	leasetest.Await(t, "the remark", func() bool { return strings.HasSuffix(w.Err.String(), silent) })
	way.Restore()
	h.Release(t)
	w.AwaitEnd(t).Check(t, 0, "in\n", strings.Repeat(silent+answers, strings.Count(w.Err.String(), silent)))
}

// TestBouncer goes by PgBouncer, which gives a connection of the server to another client after each transaction. So a
// notification does not come, and one who waits finds out about that.
func TestBouncer(t *testing.T) {
	t.Parallel()
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		bouncer = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(bouncer); err != nil {
		t.Skip("PgBouncer is missing (Debian's package pgbouncer)")
	}
	s := ownServer(t, 3, "log_statement=all")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	config := fmt.Sprintf(`[databases]
postgres = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = %s/bouncer.log
`, s.Host, s.Port, port, s.Dir())
	// With the user of the database: PgBouncer's type "any" wants one.
	config = strings.Replace(config, "port="+s.Port, "port="+s.Port+" user=cron", 1)
	if err := os.WriteFile(s.Dir()+"/bouncer.ini", []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bouncer, "-q", s.Dir()+"/bouncer.ini")
	if err := server.As(cmd); err != nil {
		t.Fatal(err)
	}
	if err := leasetest.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(leasetest.Read(s.Dir() + "/bouncer.log"))
		}
		cmd.Process.Kill()
		cmd.Wait()
	})
	e := reach("127.0.0.1", port)
	e.Run(t, flockPostgres, "name", "echo", "in").Check(t, 0, "in\n", "")
	// More at once than the pool has connections. All live longer than the TTL.
	var holders, waiters []*leasetest.Holding
	for i := range 5 {
		holders = append(holders, e.Hold(t, flockPostgres, fmt.Sprint("name", i)))
		waiters = append(waiters, e.Queue(t, flockPostgres, fmt.Sprint("name", i)))
		awaitLine(t, s, fmt.Sprint("name", i), 2)
	}
	time.Sleep(5 * time.Second)
	for i, h := range holders {
		h.ReleaseSilent(t)
		began := time.Now()
		waiters[i].AwaitOutput(t)
		t.Logf("the next one came in after %v", time.Since(began))
		waiters[i].ReleaseSilent(t)
	}
	all := leasetest.Read(s.Dir() + "/log")
	given := strings.Count(all, "statement: LISTEN flock_")
	if up := strings.Count(all, "statement: UNLISTEN flock_"); given == 0 || up != given {
		t.Errorf("%d asked for notifications, and %d have noticed that they do not come", given, up)
	}
	e.CheckContract(t, flockPostgres)
}
