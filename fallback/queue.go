package fallback

import (
	"math/rand/v2"
	"strings"
)

// Who waits for more than a few milliseconds has an empty file "wait,ID" in the state directory. The protocol knows
// nothing of these: they are there to be counted, so that many waiters look less often each, and to be listed. A count
// that is wrong costs a little time or load, nothing else.

const waitPrefix = "wait,"

func waiters(names []string) (ws []string) {
	for _, n := range names {
		if strings.HasPrefix(n, waitPrefix) {
			ws = append(ws, n)
		}
	}
	return ws
}

func (p *place) Queue(o Owner) int {
	if p.waiting == "" {
		name := waitPrefix + o.renewed().id()
		if p.Create(name) == nil {
			p.waiting = name
		}
	}
	p.dismiss(1)
	return max(p.crowd, 1)
}

func (p *place) Leave() {
	if p.waiting != "" {
		p.Remove(p.waiting)
		p.waiting = ""
	}
	p.dismiss(16)
	p.waiters = nil
}

// Waiting returns the living ones that the last listing showed.
func (p *place) Waiting() (hs []Holder) {
	for _, name := range p.waiters {
		o, ok := parseID(strings.TrimPrefix(name, waitPrefix))
		fate := p.Fate(o)
		if !ok || fate == dead {
			continue
		}
		h := Holder{Owner: o, Waiting: true, File: p.dir + "/" + name, Unreachable: fate == unknown}
		for _, m := range []Mode{Exclusive, Shared, Permit} {
			if o.Tag == m.String() {
				h.Mode = m
			}
		}
		hs = append(hs, h)
	}
	return hs
}

// dismiss removes the dead among n waiters, chosen at random: to judge all each time would be much work for nothing.
// Those of whom nobody here will ever know go too. If they live they are not counted, that is all.
func (p *place) dismiss(n int) {
	ws := p.waiters
	for ; n > 0 && len(ws) > 0; n-- {
		i := rand.N(len(ws))
		o, ok := parseID(strings.TrimPrefix(ws[i], waitPrefix))
		if ws[i] != p.waiting && (!ok || p.Fate(o) != alive) {
			p.Remove(ws[i])
		}
		ws[i] = ws[len(ws)-1]
		ws = ws[:len(ws)-1]
	}
	p.waiters = ws
}
