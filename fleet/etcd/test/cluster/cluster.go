//go:build linux

// Package cluster runs a cluster of etcd in processes of its own, for tests that kill, freeze and cut off its members.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.org/flock/fleet/lease/leasetest"
)

// Options of a cluster. The zero value is for a cluster with the servers' own defaults.
type Options struct {
	Members   int           // 0 means 3
	Heartbeat time.Duration // 0 means the server's default, 100 ms
	Election  time.Duration // 0 means the server's default, 1 s
	Flags     []string      // more, for each server
	TLS       *TLS          // nil: plain text
}

// A Cluster is a number of members on addresses of their own in 127.0.0.0/8, with data in a temporary directory.
type Cluster struct {
	Members  []*Member
	Election time.Duration
	dir      string
	tls      *TLS
	client   *clientv3.Client
}

// A Member is one server.
type Member struct {
	Name     string
	Endpoint string // host:port
	cluster  *Cluster
	argv     []string
	process  *os.Process
	frozen   bool
	ended    chan struct{}
}

// Program builds a program of this module's tools, unless the build cache has it, and returns its path.
func Program(tool string) (string, error) {
	out, err := exec.Command("go", "tool", "-n", tool).Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = errors.New(string(e.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

// Server and Etcdctl are the names of the tools.
const (
	Server  = "go.etcd.io/etcd/server/v3"
	Etcdctl = "go.etcd.io/etcd/etcdctl/v3"
)

var counter struct {
	sync.Mutex
	n int
}

// host returns an address that no other process uses: it is made of the process id.
func host(member int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>14%128, pid>>6%256, pid%64*4+member+1)
}

// Start starts a cluster and waits until it has a leader.
func Start(o Options) (*Cluster, error) {
	server, err := Program(Server)
	if err != nil {
		return nil, err
	}
	counter.Lock()
	counter.n++
	port := 2000 + 10*counter.n // below those that the kernel gives to connections
	counter.Unlock()
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, tls: o.TLS, Election: o.Election}
	if c.Election == 0 {
		c.Election = time.Second
	}
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	var all []string
	members := max(o.Members, 0)
	if members == 0 {
		members = 3
	}
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		m := &Member{Name: name, Endpoint: fmt.Sprintf("%s:%d", host(i), port), cluster: c}
		peer := fmt.Sprintf("http://%s:%d", host(i), port+1)
		all = append(all, name+"="+peer)
		m.argv = []string{server, "--name", name, "--data-dir", filepath.Join(dir, name),
			"--listen-client-urls", scheme + m.Endpoint, "--advertise-client-urls", scheme + m.Endpoint,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--log-level", "warn", "--logger", "zap", "--initial-cluster-token", fmt.Sprint(port)}
		if o.Heartbeat != 0 {
			m.argv = append(m.argv, "--heartbeat-interval", fmt.Sprint(o.Heartbeat.Milliseconds()))
		}
		if o.Election != 0 {
			m.argv = append(m.argv, "--election-timeout", fmt.Sprint(o.Election.Milliseconds()))
		}
		if o.TLS != nil {
			m.argv = append(m.argv, "--cert-file", o.TLS.ServerCert, "--key-file", o.TLS.ServerKey,
				"--trusted-ca-file", o.TLS.CA, "--client-cert-auth")
		}
		m.argv = append(m.argv, o.Flags...)
		c.Members = append(c.Members, m)
	}
	for _, m := range c.Members {
		m.argv = append(m.argv, "--initial-cluster", strings.Join(all, ","))
		if err := m.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.connect(); err != nil {
		c.Stop()
		return nil, err
	}
	if err := c.Await(30 * time.Second); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.Log())
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) connect() (err error) {
	conf := clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop(), DialTimeout: 5 * time.Second}
	if c.tls != nil {
		if conf.TLS, err = c.tls.Config(); err != nil {
			return err
		}
	}
	c.client, err = clientv3.New(conf)
	return err
}

// Client is a client of all members, without proxies between.
func (c *Cluster) Client() *clientv3.Client { return c.client }

// Endpoints are those of all members.
func (c *Cluster) Endpoints() (list []string) {
	for _, m := range c.Members {
		list = append(list, m.Endpoint)
	}
	return list
}

// Await waits until the cluster writes.
func (c *Cluster) Await(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.client.Put(attempt, "test/await", "")
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Leader returns the member that says that it is the leader.
func (c *Cluster) Leader() (*Member, error) {
	var errs []error
	for range 100 {
		for _, m := range c.Members {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			s, err := c.client.Status(ctx, m.url())
			cancel()
			if err == nil && s.Leader == s.Header.MemberId {
				return m, nil
			}
			errs = append(errs, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("no leader: %w", errors.Join(errs...))
}

func (m *Member) url() string {
	if m.cluster.tls != nil {
		return "https://" + m.Endpoint
	}
	return "http://" + m.Endpoint
}

// Log returns the end of what the servers have written.
func (c *Cluster) Log() string {
	var all strings.Builder
	for _, m := range c.Members {
		text, _ := os.ReadFile(filepath.Join(c.dir, m.Name+".log"))
		fmt.Fprintf(&all, "%s:\n%s\n", m.Name, text[max(0, len(text)-1500):])
	}
	return all.String()
}

// Metrics returns the sum of those lines of all members' metrics that begin with one of the names.
func (c *Cluster) Metrics(names ...string) (sum float64, err error) {
	for _, m := range c.Members {
		r, err := http.Get(m.url() + "/metrics")
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			found := false
			for l := range strings.Lines(string(text)) {
				if strings.HasPrefix(l, name) {
					f, err := strconv.ParseFloat(strings.TrimSpace(l[strings.LastIndexByte(l, ' '):]), 64)
					if err != nil {
						return 0, err
					}
					sum, found = sum+f, true
				}
			}
			if !found {
				return 0, fmt.Errorf("the metric %s is missing", name)
			}
		}
	}
	return sum, nil
}

// Stop kills all members and removes their data.
func (c *Cluster) Stop() {
	if c.client != nil {
		c.client.Close()
	}
	for _, m := range c.Members {
		m.Kill()
	}
	os.RemoveAll(c.dir)
}

// Start starts the member, with the data that it has.
func (m *Member) Start() error {
	log, err := os.OpenFile(filepath.Join(m.cluster.dir, m.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.argv[0], m.argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := leasetest.StartMortal(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	m.process, m.ended, m.frozen = cmd.Process, ended, false
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return nil
}

// Kill kills the member and waits for its end.
func (m *Member) Kill() {
	if m.process != nil {
		m.process.Kill()
		<-m.ended
		m.process = nil
	}
}

// Freeze stops the member as a whole.
func (m *Member) Freeze() {
	if m.process != nil {
		m.process.Signal(syscall.SIGSTOP)
		m.frozen = true
	}
}

// Thaw lets it go on.
func (m *Member) Thaw() {
	if m.process != nil {
		m.process.Signal(syscall.SIGCONT)
		m.frozen = false
	}
}

// Restore thaws the member, or starts it if it was killed.
func (m *Member) Restore() error {
	switch {
	case m.process == nil:
		return m.Start()
	case m.frozen:
		m.Thaw()
	}
	return nil
}

// A Proxy stands between one client and one member.
type Proxy struct {
	Endpoint string

	listener net.Listener
	targets  []string // each connection goes to the next one, or to any
	isRandom bool

	mu    sync.Mutex
	next  int
	state state
	delay time.Duration // of what is forwarded, each way
	conns map[net.Conn]bool
	moved *sync.Cond
}

type state int

const (
	open  state = iota
	cut         // connections are closed at once
	black       // connections are accepted, and stay, but nothing is forwarded
)

// NewProxy makes a proxy for a member or, as a balancer is one, for several.
func NewProxy(members ...*Member) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Endpoint: l.Addr().String(), listener: l, next: -1, conns: map[net.Conn]bool{}}
	for _, m := range members {
		p.targets = append(p.targets, m.Endpoint)
	}
	p.moved = sync.NewCond(&p.mu)
	go p.serve()
	return p, nil
}

// NewRandomProxy makes a balancer that chooses at random.
func NewRandomProxy(members ...*Member) (*Proxy, error) {
	p, err := NewProxy(members...)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.isRandom = true
	}
	return p, err
}

// A Network is a proxy for each member, for one client or several.
type Network []*Proxy

// Network makes proxies for all members.
func (c *Cluster) Network() (n Network, err error) {
	for _, m := range c.Members {
		p, err := NewProxy(m)
		if err != nil {
			n.Close()
			return nil, err
		}
		n = append(n, p)
	}
	return n, nil
}

// Endpoints returns the value of ETCDCTL_ENDPOINTS.
func (n Network) Endpoints() string {
	var list []string
	for _, p := range n {
		list = append(list, p.Endpoint)
	}
	return strings.Join(list, ",")
}

// Cut closes all connections and those that come.
func (n Network) Cut() { n.each((*Proxy).Cut) }

// BlackHole forwards nothing any more.
func (n Network) BlackHole() { n.each((*Proxy).BlackHole) }

// Restore forwards again.
func (n Network) Restore() { n.each((*Proxy).Restore) }

// Delay makes everything take a while, each way; a connection, twice that.
func (n Network) Delay(oneWay time.Duration) {
	n.each(func(p *Proxy) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.delay = oneWay
	})
}

// Close ends the proxies.
func (n Network) Close() { n.each((*Proxy).Close) }

func (n Network) each(f func(*Proxy)) {
	for _, p := range n {
		f(p)
	}
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.handle(c)
	}
}

func (p *Proxy) handle(c net.Conn) {
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	p.wait()
	time.Sleep(2 * p.oneWay())
	p.mu.Lock()
	if p.next++; p.isRandom {
		p.next = rand.Int()
	}
	target := p.targets[p.next%len(p.targets)]
	p.mu.Unlock()
	d, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	if !p.add(d) {
		return
	}
	defer p.remove(d)
	done := make(chan struct{}, 2)
	type packet struct {
		data []byte
		due  time.Time
	}
	forward := func(to, from net.Conn) {
		packets := make(chan packet, 1000)
		go func() {
			defer close(packets)
			for {
				b := make([]byte, 32<<10)
				n, err := from.Read(b)
				packets <- packet{b[:n], time.Now().Add(p.oneWay())}
				if err != nil {
					return
				}
			}
		}()
		for packet := range packets {
			time.Sleep(time.Until(packet.due))
			p.wait()
			if _, err := to.Write(packet.data); err != nil {
				break
			}
		}
		done <- struct{}{}
		for range packets {
		}
	}
	go forward(c, d)
	go forward(d, c)
	<-done // either way ends both
}

// wait waits while the proxy is a black hole.
func (p *Proxy) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.state == black {
		p.moved.Wait()
	}
}

func (p *Proxy) oneWay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == cut {
		c.(*net.TCPConn).SetLinger(0) // a reset
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	c.Close()
}

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	if s == cut {
		for c := range p.conns {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}
	p.moved.Broadcast()
}

// Cut closes all connections and those that come.
func (p *Proxy) Cut() { p.set(cut) }

// BlackHole forwards nothing any more.
func (p *Proxy) BlackHole() { p.set(black) }

// Restore forwards again. What a black hole has swallowed comes out.
func (p *Proxy) Restore() { p.set(open) }

// Close ends the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.set(cut)
}
