//go:build linux

package server

import (
	"bytes"
	"net"
	"sync"
)

// A Proxy stands between clients and a server.
type Proxy struct {
	Host, Port string
	listener   net.Listener

	mu     sync.Mutex
	target string
	state  state
	holdAt []byte // a client that sends this is not heard any more after that message
	backAt []byte // a message with this is held back, and all that comes after it, until Restore
	conns  map[net.Conn]bool
	moved  *sync.Cond

	messages int // of clients
}

type state int

const (
	open  state = iota
	cut         // connections are closed at once
	black       // connections are accepted, and stay, but nothing is forwarded
	late        // the same, but what is held back arrives in the end
)

// NewProxy makes a proxy for a server.
func NewProxy(s *Server) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, conns: map[net.Conn]bool{}}
	p.Host, p.Port, _ = net.SplitHostPort(l.Addr().String())
	p.moved = sync.NewCond(&p.mu)
	p.LeadTo(s)
	go p.serve()
	return p, nil
}

// LeadTo has new connections go to another server, and cuts those that there are.
func (p *Proxy) LeadTo(s *Server) {
	p.mu.Lock()
	p.target = net.JoinHostPort(s.Host, s.Port)
	p.mu.Unlock()
	p.closeAll()
}

// HoldAt has the next client that sends a message with this text be cut off in silence after that message: as if it
// were stopped. Its answers do not reach it.
func (p *Proxy) HoldAt(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdAt = []byte(text)
}

// HoldBackAt has the next message with this text, and all that comes after it, arrive late: at Restore.
func (p *Proxy) HoldBackAt(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backAt = []byte(text)
}

// Holds reports whether it still waits for the text of HoldAt or HoldBackAt.
func (p *Proxy) Holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holdAt != nil || p.backAt != nil
}

// Messages returns how many messages clients have sent.
func (p *Proxy) Messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.messages
}

// Cut closes all connections, and new ones at once.
func (p *Proxy) Cut() {
	p.set(cut)
	p.closeAll()
}

// BlackHole has nothing pass any more.
func (p *Proxy) BlackHole() { p.set(black) }

// Restore undoes Cut and BlackHole. What was held back is lost with its connections, unless HoldBackAt has done it.
func (p *Proxy) Restore() {
	if isLate := p.set(open) == late; !isLate {
		p.closeAll()
	}
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
}

// set returns the state of before.
func (p *Proxy) set(s state) (before state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.state = p.state, s
	p.moved.Broadcast()
	return before
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	p.moved.Broadcast()
}

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
	}
}

func (p *Proxy) forward(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	p.conns[client] = true
	target, s := p.target, p.state
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	if s == cut {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	held := make(chan struct{})
	done := make(chan struct{}, 2)
	go func() { p.pipe(server, client, held, true); done <- struct{}{} }()
	go func() { p.pipe(client, server, held, false); done <- struct{}{} }()
	<-done
}

// pipe copies what one side sends.
func (p *Proxy) pipe(to, from net.Conn, held chan struct{}, isClient bool) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		if isClient {
			p.messages++
		}
		if isClient && p.backAt != nil && bytes.Contains(b[:n], p.backAt) {
			p.backAt, p.state = nil, late
		}
		for p.state == black || p.state == late {
			p.moved.Wait()
		}
		isLast := isClient && p.holdAt != nil && bytes.Contains(b[:n], p.holdAt)
		if isLast {
			p.holdAt = nil
		}
		isCut := p.state == cut
		p.mu.Unlock()
		select {
		case <-held:
			continue
		default:
		}
		if isCut {
			return
		}
		if isLast {
			close(held)
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
