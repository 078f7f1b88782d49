//go:build linux

// Package test runs flock-postgres over real servers of PostgreSQL.
package test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/flock/postgres/test/server"
)

// The programs under test and of the tests.
var flockPostgres, section, flock string

// allowance is for two cores that all tests share. It is added to bounds that are about answers, not about the TTL.
const allowance = 20 * time.Second

func TestMain(m *testing.M) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) { // as by nohup: what the tests start would inherit that
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "flock-postgres")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		defer server.RemoveTemplate()
		build := func(name, where, what string) string {
			program := filepath.Join(dir, name)
			cmd := exec.Command("go", "build", "-o", program, what)
			cmd.Dir = where
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				fmt.Printf("go build: %v\n%s", err, out)
				os.Exit(1)
			}
			return program
		}
		flockPostgres, section = build("flock-postgres", "..", "."), build("section", "../../etcd/test", "./section")
		flock = build("flock", "../..", ".") // beside flock-postgres, where it looks first
		defer stopShared()
		return m.Run()
	}())
}

var shared struct {
	sync.Once
	server *server.Server
	err    error
}

// sharedServer is for tests that do not disturb it. It begins transactions with what others might like as a default.
func sharedServer(t *testing.T) *server.Server {
	t.Helper()
	shared.Do(func() {
		shared.server, shared.err = start(10,
			"default_transaction_isolation=repeatable read", "default_transaction_read_only=on",
			"synchronous_commit=off", "standard_conforming_strings=off", "bytea_output=escape",
			"intervalstyle=iso_8601", "timezone=Asia/Kolkata")
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

func stopShared() {
	if shared.server != nil {
		shared.server.Stop()
	}
}

// ownServer is for a test that disturbs it, or needs another TTL.
func ownServer(t *testing.T, ttl int, settings ...string) *server.Server {
	t.Helper()
	s, err := start(ttl, settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Log())
		}
		s.Stop()
	})
	return s
}

// start starts a server with the tables, an ordinary user who may use them, and a past.
func start(ttl int, settings ...string) (*server.Server, error) {
	s, err := server.Start(settings...)
	if err != nil {
		return nil, err
	}
	return s, makeTables(s, ttl, known)
}

// known has the server be the one that is known from before: nobody waits for those who may have got a lock by another
// one.
const known = `;UPDATE flock.server SET started = pg_postmaster_start_time(), timeline = '00000001', epoch = 1`

func makeTables(s *server.Server, ttl int, more string) error {
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		return err
	}
	_, err = s.SQL(string(schema) + fmt.Sprintf(";UPDATE flock.server SET ttl = %d", ttl) + more +
		`;DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'cron') THEN CREATE ROLE cron LOGIN; END IF;
		END $$;
		GRANT USAGE ON SCHEMA flock TO cron;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA flock TO cron`)
	return err
}

// proxyTo returns a way of its own to a server.
func proxyTo(t *testing.T, s *server.Server) *server.Proxy {
	t.Helper()
	p, err := server.NewProxy(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// sql runs statements as the superuser, and returns the rows of the last one.
func sql(t *testing.T, s *server.Server, statements string) []string {
	t.Helper()
	rows, err := s.SQL(statements)
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	return rows
}

// A process is a flock-postgres, or what runs one.
type process struct {
	*exec.Cmd
	out, err lockedBuffer
	ended    chan struct{}
	status   int // 128 plus the number of the signal that it died by
	at       time.Time
}

type lockedBuffer struct {
	sync.Mutex
	b bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}

// An environment is for flock-postgres: a server, and what is different from it.
type environment []string

func reach(host, port string, more ...string) environment {
	return append(environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
		"PGHOST=" + host, "PGPORT=" + port, "PGDATABASE=postgres", "PGUSER=cron"}, more...)
}

func to(s *server.Server, more ...string) environment { return reach(s.Host, s.Port, more...) }

func by(p *server.Proxy, more ...string) environment { return reach(p.Host, p.Port, more...) }

// start starts a program with words.
func (e environment) start(t *testing.T, words ...string) *process {
	t.Helper()
	p := e.prepare(words...)
	p.launch(t)
	return p
}

func (e environment) prepare(words ...string) *process {
	p := &process{Cmd: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	p.Env, p.Stdout, p.Stderr = e, &p.out, &p.err
	// Background children of the command may keep the pipe of the output open.
	p.WaitDelay = time.Second
	return p
}

func (p *process) launch(t *testing.T) {
	t.Helper()
	if err := server.StartMortal(p.Cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		w := p.ProcessState.Sys().(syscall.WaitStatus)
		p.status, p.at = w.ExitStatus(), time.Now()
		if w.Signaled() {
			p.status = 128 + int(w.Signal())
		}
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Process.Signal(syscall.SIGCONT)
		p.Process.Kill()
		<-p.ended
	})
}

// wait waits for the end, and fails the test when there is none.
func (p *process) wait(t *testing.T) *process {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(40*time.Second + allowance):
		t.Fatalf("%v does not end; stdout: %s; stderr: %s", p.Args, &p.out, &p.err)
	}
	return p
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// run starts a program and waits for its end.
func (e environment) run(t *testing.T, words ...string) *process {
	t.Helper()
	return e.start(t, words...).wait(t)
}

// check fails the test unless the end was as expected.
func (p *process) check(t *testing.T, status int, out, err string) {
	t.Helper()
	if p.status != status || p.out.String() != out || p.err.String() != err {
		t.Errorf("%q\nstatus %d, expected %d\nstdout %q, expected %q\nstderr %q, expected %q",
			p.Args, p.status, status, p.out.String(), out, p.err.String(), err)
	}
}

// A holding is a flock-postgres that has the lock until its command is told to end.
type holding struct {
	*process
	input io.WriteCloser
}

// hold starts a flock-postgres with options, whose command writes a word when it runs and ends with its input.
func (e environment) hold(t *testing.T, words ...string) *holding {
	t.Helper()
	h := e.queue(t, words...)
	h.awaitOutput(t)
	return h
}

// queue starts the same, which may have to wait.
func (e environment) queue(t *testing.T, words ...string) *holding {
	t.Helper()
	words = append([]string{flockPostgres}, words...)
	p := e.prepare(append(words, "sh", "-c", `echo "$FLOCK_TOKEN."; read line; exit 3`)...)
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.launch(t)
	return &holding{p, in}
}

// awaitOutput waits until the command of a flock-postgres runs.
func (p *process) awaitOutput(t *testing.T) {
	t.Helper()
	await(t, "the output of the command", func() bool {
		if p.hasEnded() && p.out.String() == "" {
			t.Fatalf("%q ended with %d: %s", p.Args, p.status, &p.err)
		}
		return p.out.String() != ""
	})
}

// release ends the command of a holder.
func (h *holding) release(t *testing.T) {
	t.Helper()
	h.input.Close()
	if h.wait(t); h.status != 3 || h.err.String() != "" {
		t.Errorf("%q: status %d: %s", h.Args, h.status, &h.err)
	}
}

// token returns that of a holder.
func (h *holding) token(t *testing.T) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(h.out.String()), "."), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30*time.Second + allowance); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// awaitLine waits until so many contend for a lock.
func awaitLine(t *testing.T, s *server.Server, name string, n int) {
	t.Helper()
	await(t, fmt.Sprintf("%d contenders for %s", n, name), func() bool {
		return sql(t, s, "SELECT count(*) FROM flock.contender WHERE name = '"+name+"'")[0] == strconv.Itoa(n)
	})
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// children returns the process ids of those of a process.
func children(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		for _, word := range strings.Fields(read(task)) {
			if pid, err := strconv.Atoi(word); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

func kill(p *process, sig syscall.Signal) { p.Process.Signal(sig) }

// uniqueName returns a name of a lock, made of that of the test.
func uniqueName(t *testing.T) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
}
