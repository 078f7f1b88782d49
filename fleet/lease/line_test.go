//go:build unix

package lease

import (
	"strings"
	"testing"
	"time"
)

// parseLine makes a line of words, each a place: x, s, a number of permits, c for one that respects the cooldown, C for
// its cooldown. What follows a colon is the ID, else the index.
func parseLine(words string) (l Line) {
	for i, word := range strings.Fields(words) {
		kind, id, _ := strings.Cut(word, ":")
		c := Contender{ID: id, Key: word}
		if id == "" {
			c.ID = string(rune('a' + i))
		}
		switch kind {
		case "x":
			c.Mode = Exclusive
		case "s":
			c.Mode = Shared
		case "c":
			c.Mode = Cooldown
		case "C":
			c.Mode, c.Until = Cooldown, 1
		case "?":
			c.Mode, c.Why = Unknown, "why"
		case "h":
			c.Mode, c.Holds = Exclusive, true
		default:
			c.Mode, c.Permits = Permit, int(kind[0]-'0')
		}
		l = append(l, c)
	}
	return l
}

// TestKeepOut has lines, and who of them keeps out whoever comes behind.
func TestKeepOut(t *testing.T) {
	for _, c := range []struct{ line, behind, out string }{
		{"", "x", ""}, {"", "s", ""}, {"", "1", ""}, {"", "c", ""},
		{"?", "x", "?"}, {"?", "s", "?"}, {"?", "1", "?"}, {"?", "c", "?"}, {"? C c", "c", "? C c"}, {"? s", "s", "?"},
		{"x", "x", "x"}, {"x", "s", "x"}, {"x", "1", "x"},
		{"s", "x", "s"}, {"s", "s", ""}, {"s", "1", ""},
		{"1", "x", "1"}, {"1", "s", ""}, {"1", "1", "1"}, {"1", "2", ""}, {"2 2", "2", "2 2"}, {"2 2 2", "3", "2 2 2"},
		{"s x s", "s", "x"}, {"s x s", "x", "s x s"}, {"1 x 1", "1", "x"}, {"1 s 1", "2", "1 1"},
		{"c", "x", ""}, {"C", "x", ""}, {"c", "c", "c"}, {"C", "c", "C"}, {"x", "c", ""}, {"C c x s", "c", "C c"},
	} {
		var out []string
		for _, o := range parseLine(c.line).KeepOut(parseLine(c.behind)[0]) {
			out = append(out, o.Key)
		}
		if got := strings.Join(out, " "); got != c.out {
			t.Errorf("%s behind %s: %q, expected %q", c.behind, c.line, got, c.out)
		}
	}
}

// TestContenders has lines, and who of them waits or is no contender.
func TestContenders(t *testing.T) {
	for line, want := range map[string]string{
		"x x s":       "x, x waits, s waits",
		"s s x s":     "s, s, x waits, s waits",
		"2 2 2 x":     "2, 2, 2 waits, x waits",
		"C:1 x:1 c:2": "x:1, c:2 waits", // its holder has the lock
		"C:1 c:2 x:3": "C:1 cools, c:2 waits, x:3",
		"c:1 x:9 x:1": "x:9, x:1 waits",
		"? x":         "x waits",
		"? h x":       "h, x waits", // it has renewed its lock meanwhile
	} {
		var all []string
		for _, c := range parseLine(line).contenders() {
			word := c.Key
			if c.waits {
				word += " waits"
			} else if !c.holds() {
				word += " cools"
			}
			all = append(all, word)
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("%s: %s, expected %s", line, got, want)
		}
	}
}

// TestRefused has newcomers that do not want to wait behind a line, or not behind so many.
func TestRefused(t *testing.T) {
	queue := func(n int) Claim { return Claim{Mode: Exclusive, Queued: true, Queue: n} }
	cools := Claim{Mode: Exclusive, Nonblock: true, Cooldown: time.Hour}
	for _, c := range []struct {
		line    string
		r       Claim
		refused bool
	}{
		{"", Claim{Mode: Exclusive, Nonblock: true}, false},
		{"x", Claim{Mode: Exclusive, Nonblock: true}, true},
		{"x", Claim{Mode: Exclusive}, false},
		{"x", queue(1), false}, {"x x", queue(1), true}, {"x x", queue(2), false}, {"s s s", queue(1), false},
		{"C:1 c:2", queue(1), false}, // without --cooldown it need not wait
		{"C x", Claim{Mode: Exclusive, Nonblock: true}, true},
		{"C", cools, true}, {"C", Claim{Mode: Exclusive, Nonblock: true}, false}, {"x", cools, true},
		{"", cools, false},
		{"?", Claim{Mode: Exclusive, Nonblock: true}, false}, {"? x", Claim{Mode: Exclusive, Nonblock: true}, true},
		{"?", queue(0), false}, {"? x", queue(0), true}, {"? x", queue(1), true}, {"? h", queue(1), false},
		{"? C", cools, true},
	} {
		if refused := c.r.Refused(parseLine(c.line)); refused != c.refused {
			t.Errorf("%+v behind %q: refused %v", c.r, c.line, refused)
		}
	}
}

// TestByLock has the lines of two locks mixed.
func TestByLock(t *testing.T) {
	l := parseLine("x x s")
	l[0].Lock, l[1].Lock, l[2].Lock = "b", "a", "b"
	list, unknown := l.byLock()
	if unknown != "" || len(list) != 3 || list[0].Lock != "a" || list[0].waits || list[1].waits || !list[2].waits {
		t.Errorf("%+v", list)
	}
	list, unknown = append(l, parseLine("?")...).byLock()
	if unknown != "why" || len(list) != 3 || !list[0].waits || !list[1].waits {
		t.Errorf("%+v, unknown: %s", list, unknown)
	}
}
