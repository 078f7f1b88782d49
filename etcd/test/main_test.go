//go:build linux

package test

import (
	"bytes"
	"context"
	"fmt"
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

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/etcd/test/cluster"
)

// The programs under test and of the tests.
var flockEtcd, section, flock string

// allowance is for two cores that all tests share. It is added to bounds that are about answers, not about etcd's time.
const allowance = 20 * time.Second

func TestMain(m *testing.M) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) { // as by nohup: what the tests start would inherit that
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "flock-etcd")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
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
		flockEtcd, section = build("flock-etcd", "..", "."), build("section", ".", "./section")
		flock = build("flock", "../..", ".") // beside flock-etcd, where it looks first
		go measureLateness()
		defer stopShared()
		return m.Run()
	}())
}

// clusterOptions are those of a cluster that is quick to notice what is lost.
var clusterOptions = cluster.Options{Heartbeat: 50 * time.Millisecond, Election: 500 * time.Millisecond}

var shared struct {
	sync.Once
	cluster *cluster.Cluster
	err     error
}

// sharedCluster is for tests that do not disturb its members.
func sharedCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	shared.Do(func() {
		shared.cluster, shared.err = cluster.Start(clusterOptions)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func stopShared() {
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
}

// ownCluster is for a test that disturbs its members.
func ownCluster(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Log())
		}
		c.Stop()
	})
	return c
}

// networkTo returns a network of its own to a cluster.
func networkTo(t *testing.T, c *cluster.Cluster) cluster.Network {
	t.Helper()
	n, err := c.Network()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// A process is a flock-etcd, or what runs one.
type process struct {
	*exec.Cmd
	out, err lockedBuffer
	ended    chan struct{}
	status   int            // 128 plus the number of the signal that it died by
	signal   syscall.Signal // that it died by
	at       time.Time      // when it ended
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

// An environment is for flock-etcd: a cluster, and what is different from it.
type environment []string

func reach(endpoints string, more ...string) environment {
	return append(environment{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "ETCDCTL_ENDPOINTS=" + endpoints}, more...)
}

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
	if err := cluster.StartMortal(p.Cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		w := p.ProcessState.Sys().(syscall.WaitStatus)
		p.status, p.at = w.ExitStatus(), time.Now()
		if w.Signaled() {
			p.signal = w.Signal()
			p.status = 128 + int(p.signal)
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

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30*time.Second + allowance); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// line returns the keys of the contenders for a lock, in order.
func line(t *testing.T, c *cluster.Cluster, name string) (keys []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), allowance)
	defer cancel()
	r, err := c.Client().Get(ctx, "/flock/"+name+"/line/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range r.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// awaitLine waits until so many contend for a lock.
func awaitLine(t *testing.T, c *cluster.Cluster, name string, n int) (keys []string) {
	t.Helper()
	await(t, fmt.Sprintf("%d contenders for %s", n, name), func() bool {
		keys = line(t, c, name)
		return len(keys) == n
	})
	return keys
}

// guardOf returns the process id of the guard of a flock-etcd: its only child.
func guardOf(t *testing.T, pid int) int {
	t.Helper()
	list := children(pid)
	if len(list) != 1 {
		t.Fatalf("flock-etcd has %d children", len(list))
	}
	return list[0]
}

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

// late is by how much this machine has woken one process too late since the tests began: each time that it was to wake after
// ten milliseconds, added up. What is to happen in time takes longer by about that.
var late struct {
	sync.Mutex
	sum    time.Duration
	latest []delay // those of more than a millisecond
}

type delay struct {
	at time.Time
	by time.Duration
}

func measureLateness() {
	const pause = 10 * time.Millisecond
	for {
		began := time.Now()
		time.Sleep(pause)
		d := delay{time.Now(), time.Since(began) - pause}
		late.Lock()
		if late.sum += d.by; d.by > time.Millisecond {
			late.latest = append(late.latest, d)
		}
		late.Unlock()
	}
}

func lateness() time.Duration {
	late.Lock()
	defer late.Unlock()
	return late.sum
}

// worstDelay returns by how much this machine has woken one process too late, at the most, since a time. What one process
// sees by itself is seen too late by about that.
func worstDelay(since time.Time) (worst time.Duration) {
	late.Lock()
	defer late.Unlock()
	for _, d := range late.latest {
		if d.at.After(since) {
			worst = max(worst, d.by)
		}
	}
	return worst
}

// uniqueName returns a name of a lock, made of that of the test.
func uniqueName(t *testing.T) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
}
