//go:build linux

// Package server runs PostgreSQL servers in processes of their own, for tests that kill, freeze, cut off and promote
// them.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/internal/proc"
)

// A Server is a PostgreSQL server on an address of its own in 127.0.0.0/8, with its data in a temporary directory.
type Server struct {
	Host, Port string
	dir        string
	settings   []string
	process    *os.Process
	ended      chan struct{}
}

// programs is where those of the newest PostgreSQL are.
var programs = sync.OnceValues(func() (string, error) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", errors.New("PostgreSQL is missing (Debian's package postgresql)")
		}
		initdb = slices.MaxFunc(found, func(a, b string) int { return len(a) - len(b) })
	}
	initdb, err = filepath.EvalSymlinks(initdb)
	return filepath.Dir(initdb), err
})

// Program returns the path of one of PostgreSQL's programs, such as psql.
func Program(name string) (string, error) {
	dir, err := programs()
	return filepath.Join(dir, name), err
}

// account is the user for servers, which refuse root; nil: that of this process.
var account = sync.OnceValues(func() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
})

// newDir makes a directory for a server.
func newDir() (string, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return "", err
	}
	who, err := account()
	if who != nil {
		err = os.Chown(dir, int(who.Uid), int(who.Gid))
	}
	return dir, err
}

// As makes a command run as the user for servers.
func As(cmd *exec.Cmd) error {
	who, err := account()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	cmd.Dir = "/"
	return err
}

// run runs one of PostgreSQL's programs to its end.
func run(name string, words ...string) error {
	program, err := Program(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, words...)
	if err := As(cmd); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// template is a directory with the data of a new server, which is quicker to copy than to make.
var template = sync.OnceValues(func() (string, error) {
	dir, err := newDir()
	if err != nil {
		return "", err
	}
	return dir, run("initdb", "-D", dir+"/data", "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale", "C", "--no-sync")
})

var counter struct {
	sync.Mutex
	n int
}

// host returns an address that no other process uses: it is made of the process id.
func host() string {
	counter.Lock()
	defer counter.Unlock()
	counter.n++
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+(pid>>10)%64, pid>>2%256, pid%4*64+counter.n%64)
}

// Start starts a server with settings, such as max_connections=20, and makes the tables there.
func Start(settings ...string) (*Server, error) {
	from, err := template()
	if err != nil {
		return nil, err
	}
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	s := &Server{Host: host(), Port: "5432", dir: dir, settings: settings}
	cp := exec.Command("cp", "-a", from+"/data", dir)
	if out, err := cp.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if err := s.Run(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Replica starts a server that follows this one.
func (s *Server) Replica(settings ...string) (*Server, error) {
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	r := &Server{Host: host(), Port: s.Port, dir: dir, settings: settings}
	if err := run("pg_basebackup", "-h", s.dir, "-p", s.Port, "-U", "postgres", "-D", dir+"/data", "-R",
		"--checkpoint=fast", "--no-sync"); err != nil {
		return nil, err
	}
	return r, r.Run()
}

// Run starts the server, with the data that it has, and waits until it answers.
func (s *Server) Run() error {
	program, err := Program("postgres")
	if err != nil {
		return err
	}
	words := []string{"-D", s.dir + "/data", "-k", s.dir, "-c", "listen_addresses=" + s.Host, "-c", "port=" + s.Port,
		"-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "dynamic_shared_memory_type=mmap"} // in its directory
	for _, setting := range s.settings {
		words = append(words, "-c", setting)
	}
	log, err := os.OpenFile(s.dir+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, words...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := As(cmd); err != nil {
		return err
	}
	if err := leasetest.StartMortal(cmd); err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, make(chan struct{})
	ended := s.ended
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := s.SQL("SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%w\n%s", err, s.Log())
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w\n%s", err, s.Log())
		}
	}
}

// SQL runs statements as the superuser, by the socket, and returns the rows of the last one, with spaces between the
// values.
func (s *Server) SQL(sql string) (rows []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range results[len(results)-1].Rows {
		rows = append(rows, string(bytes.Join(row, []byte(" "))))
	}
	return rows, nil
}

// Connect connects as the superuser, by the socket.
func (s *Server) Connect(ctx context.Context) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres application_name=test "+
		"options='-c default_transaction_read_only=off'", s.dir, s.Port))
}

// Dir is where its socket and its data are.
func (s *Server) Dir() string { return s.dir }

// Log returns the end of what the server has written.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.dir + "/log")
	return string(text[max(0, len(text)-3000):])
}

// Promote makes a replica a server of its own.
func (s *Server) Promote() error {
	_, err := s.SQL("SELECT pg_promote(true, 60)")
	return err
}

// Disconnect has a replica get no more from its primary.
func (s *Server) Disconnect() error {
	if _, err := s.SQL("ALTER SYSTEM SET primary_conninfo = ''"); err != nil {
		return err
	}
	if _, err := s.SQL("SELECT pg_reload_conf()"); err != nil {
		return err
	}
	for range 1000 {
		if rows, err := s.SQL("SELECT count(*) FROM pg_stat_wal_receiver"); err != nil || rows[0] == "0" {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the replica stays connected")
}

// processes returns the process ids of the server and its children.
func (s *Server) processes() []int {
	return append([]int{s.process.Pid}, proc.Children(s.process.Pid)...)
}

// Freeze stops all processes of the server.
func (s *Server) Freeze() {
	s.process.Signal(syscall.SIGSTOP) // so that it makes no more
	for _, pid := range s.processes() {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// Thaw lets them go on.
func (s *Server) Thaw() {
	for _, pid := range s.processes() {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Crash kills all processes of the server, and waits for their end, but not until process 1 has taken note of it, which
// may take seconds. The next Run, or Stop, removes what they leave.
func (s *Server) Crash() {
	if s.process == nil {
		return
	}
	pids := s.processes()
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.ended
	s.process = nil
	for _, pid := range pids {
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if stat, err := proc.ReadStat(pid); err != nil || stat.IsDead() {
				break
			}
		}
	}
}

// ShutDown has the server end as pg_ctl stop does: it ends all connections.
func (s *Server) ShutDown() { s.terminate(syscall.SIGINT) }

// terminate has the server end by a signal for which it removes its shared memory, and waits for that.
func (s *Server) terminate(sig syscall.Signal) {
	if s.process == nil {
		return
	}
	s.Thaw()
	s.process.Signal(sig)
	select {
	case <-s.ended:
		s.process = nil
	case <-time.After(time.Minute):
		s.Crash()
	}
}

// Stop ends the server, and removes its data and what a crash has left of it.
func (s *Server) Stop() {
	s.terminate(syscall.SIGQUIT)
	if id, err := s.Segment(); err == nil {
		unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
	os.RemoveAll(s.dir)
}

// Segment returns the number of the server's System V segment: a file says it while the server runs, or has crashed.
func (s *Server) Segment() (id int, err error) {
	text, err := os.ReadFile(s.dir + "/data/postmaster.pid")
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 7 {
		return 0, errors.Join(err, errors.New("there is no segment"))
	}
	_, err = fmt.Sscan(lines[6], new(int), &id)
	return id, err
}

// RemoveTemplate removes what Start has left for the next server.
func RemoveTemplate() {
	if dir, err := template(); err == nil {
		os.RemoveAll(dir)
	}
}
