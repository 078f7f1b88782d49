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

// dismiss removes the dead among n waiters, chosen at random: to judge all each time would be much work for nothing.
func (p *place) dismiss(n int) {
	ws := p.waiters
	for ; n > 0 && len(ws) > 0; n-- {
		i := rand.N(len(ws))
		o, ok := parseID(strings.TrimPrefix(ws[i], waitPrefix))
		if ws[i] != p.waiting && (!ok || p.Fate(o) == dead) {
			p.Remove(ws[i])
		}
		ws[i] = ws[len(ws)-1]
		ws = ws[:len(ws)-1]
	}
	p.waiters = ws
}
