package fallback

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Owner is the process whose life a lock follows, as the name of its record tells it.
type Owner struct {
	// PID is the process id, in the pid namespace Namespace.
	PID int
	// Start is the system's own start time of the process, an opaque word; "" where it cannot be known.
	Start string
	// Host is the name of the machine, for people to read.
	Host string
	// Boot tells one run of the kernel from every other; Namespace is where process ids are counted.
	// Both are "" on systems that have none.
	Boot, Namespace string
	// Keeper is a second process, of the same machine and namespace: the lock lasts while either lives.
	Keeper Keeper
	// Tag is a word of the caller's that tells several locks of one process apart. It may be "". One that takes more
	// than 28 bytes in a file name, where only letters, digits and "._-~" take one byte each, is an error of Lock.
	Tag string

	machine string // outlives a reboot, "" where there is none; see Boot
	nonce   string
}

// A Keeper is a process, as in Owner. Without one, PID is 0.
type Keeper struct {
	PID   int
	Start string
}

// The longest parts of a name, escaped. With the word in front (7 bytes), two process ids and the nonce (11, 11 and 13
// with their commas) a name stays under 255 bytes, the limit of nearly every filesystem.
const (
	maxStart     = 20
	maxHost      = 64
	maxMachine   = 13
	maxBoot      = 36
	maxNamespace = 22
	maxTag       = 28
)

// String names the owner as the records do, without the nonce.
func (o Owner) String() string {
	keeper := ""
	if o.Keeper.PID != 0 {
		keeper = strconv.Itoa(o.Keeper.PID)
	}
	return strings.Join([]string{strconv.Itoa(o.PID), word(o.Start, maxStart), word(o.Host, maxHost),
		word(o.machine, maxMachine), word(o.Boot, maxBoot), word(o.Namespace, maxNamespace),
		keeper, word(o.Keeper.Start, maxStart), word(o.Tag, maxTag)}, ",")
}

// processes returns the owner as each of its processes: itself, and with the PID and Start of its keeper.
func (o Owner) processes() []Owner {
	if o.Keeper.PID == 0 {
		return []Owner{o}
	}
	keeper := o
	keeper.PID, keeper.Start = o.Keeper.PID, o.Keeper.Start
	return []Owner{o, keeper}
}

// SameProcess reports whether both are the same process, whatever their locks.
func (o Owner) SameProcess(p Owner) bool {
	p.Keeper, p.Tag = o.Keeper, o.Tag
	return o.same(p)
}

func (o Owner) id() string { return o.String() + "," + o.nonce }

// same reports whether both are the same owner, whatever acquisition their records stem from.
func (o Owner) same(p Owner) bool { return o.PID == p.PID && o.String() == p.String() }

// renewed returns the owner with a nonce of its own.
func (o Owner) renewed() Owner {
	o.nonce = nonce()
	return o
}

// nonce returns 64 random bits. They have to be unique among the acquisitions of one owner only, that is of one process
// in the life of one kernel. The test that runs every interleaving replaces it.
var nonce = func() string { return strconv.FormatUint(rand.Uint64(), 36) }

// parseID reads what id wrote. It is done for every name of a listing, hence without allocating.
func parseID(s string) (o Owner, ok bool) {
	var f [10]string
	escaped := strings.IndexByte(s, '%') >= 0
	for i := range f {
		var more bool
		if f[i], s, more = strings.Cut(s, ","); more != (i < len(f)-1) {
			return o, false
		}
		if escaped && i > 0 {
			if f[i], ok = unescape(f[i]); !ok {
				return o, false
			}
		}
	}
	pid, ok := parsePID(f[0])
	if !ok || f[9] == "" {
		return o, false
	}
	keeper := 0
	if f[6] != "" {
		if keeper, ok = parsePID(f[6]); !ok {
			return o, false
		}
	}
	return Owner{PID: pid, Start: f[1], Host: f[2], machine: f[3], Boot: f[4], Namespace: f[5],
		Keeper: Keeper{keeper, f[7]}, Tag: f[8], nonce: f[9]}, true
}

func parsePID(s string) (int, bool) {
	pid, err := strconv.Atoi(s)
	return pid, err == nil && pid > 0 && s[0] >= '1' && s[0] <= '9'
}

// word escapes s, and where the result is longer than max bytes replaces its end by a hash of the whole.
func word(s string, max int) string {
	e := escape(s, "")
	if len(e) <= max {
		return e
	}
	if max < 16 {
		return digest(s)
	}
	e = e[:max-14]
	if i := strings.LastIndexByte(e, '%'); i > len(e)-3 && i >= 0 {
		e = e[:i]
	}
	return e + "~" + digest(s)
}

// digest is at most 13 letters and digits that differ for different s.
func digest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strconv.FormatUint(h.Sum64(), 36)
}

const hex = "0123456789ABCDEF"

// escape writes every byte that is not a letter, a digit, one of "._-~" or one of more as %XX.
func escape(s, more string) string {
	plain := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '.' || c == '_' || c == '-' || c == '~' || strings.IndexByte(more, c) >= 0
	}
	n := 0
	for n < len(s) && plain(s[n]) {
		n++
	}
	if n == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:n]...)
	for i := n; i < len(s); i++ {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, lo := strings.IndexByte(hex, s[i+1]), strings.IndexByte(hex, s[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	return string(b), true
}
