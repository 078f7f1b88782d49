package fallback

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"

	"example.org/flock/internal/openfile"
	"example.org/flock/internal/proc"
)

// An owner is the process that a record stands for or, with a mark, the open file that this process has under the number.
// The name of the record tells it.
type owner struct {
	pid   int    // in the pid namespace
	start string // the system's own start time of the process, an opaque word; "" where it cannot be known
	machine

	number int           // of the descriptor, -1: none
	mark   openfile.Mark // of the open file
	opened bool          // whether the process opened the file itself: only processes that were made later can have it
	fixed  bool          // and never moves the descriptor: it waits for its command
	file   string        // identity of the locked file, "": the lock is the process's; of a waiter, the mode that it waits for
	nonce  string        // makes the name unique in history
}

// A machine is where a process runs.
type machine struct {
	host            string // for people to read
	id              string // outlives a reboot, "" where there is none; see boot
	boot, namespace string // one run of the kernel, and where process ids are counted; "" on systems that have none
}

// here is this machine.
var here = sync.OnceValue(func() machine {
	m := proc.ThisMachine()
	id := ""
	if m.ID != "" {
		id = digest(m.ID) // machine-id(5) must not be shown to others
	}
	host, _ := os.Hostname()
	o := owner{pid: 1, machine: machine{host, id, m.Boot, m.Namespace}, number: -1, nonce: "0"}
	o, _ = parseOwner(o.String()) // with parts too long for a file name shortened, as others read them
	return o.machine
})

// self is this process as an owner. Its identity cannot change, and finding it takes some system calls.
var self = sync.OnceValues(func() (owner, error) { return process(os.Getpid()) })

// process returns the owner for a process of this machine.
func process(pid int) (owner, error) {
	if err := proc.CanTell(); err != nil {
		return owner{}, err
	}
	start, exists := "", false
	if pid > 0 {
		start, exists = proc.Start(pid)
	}
	if !exists {
		return owner{}, stateError("there is no process " + strconv.Itoa(pid))
	}
	return owner{pid: pid, start: start, machine: here(), number: -1}, nil
}

// The longest parts of a name, escaped. With the word in front (7 bytes), process id and number (12 each), the file (13)
// and the nonce (13), each with its comma, a name stays under 255 bytes, the limit of nearly every filesystem.
const (
	maxStart     = 20
	maxHost      = 64
	maxMachine   = 13
	maxBoot      = 36
	maxNamespace = 22
	maxFile      = 13
)

// String names the owner as the records do.
func (o owner) String() string {
	number := ""
	if o.number >= 0 {
		number = strconv.Itoa(o.number)
		if o.mark != openfile.None && o.opened {
			number += strings.ToUpper(string(o.mark))
		} else if o.mark != openfile.None {
			number += string(o.mark)
		}
		if o.fixed {
			number += "="
		}
	}
	return strings.Join([]string{strconv.Itoa(o.pid), word(o.start, maxStart), word(o.host, maxHost), word(o.id, maxMachine),
		word(o.boot, maxBoot), word(o.namespace, maxNamespace), number, word(o.file, maxFile), o.nonce}, ",")
}

// parseOwner reads what String wrote. It is done for every name of a listing, hence without allocating.
func parseOwner(s string) (o owner, ok bool) {
	var f [9]string
	escaped := strings.IndexByte(s, '%') >= 0
	for i := range f {
		var more bool
		if f[i], s, more = strings.Cut(s, ","); more != (i < len(f)-1) {
			return o, false
		}
		if escaped {
			if f[i], ok = unescape(f[i]); !ok {
				return o, false
			}
		}
	}
	o = owner{start: f[1], machine: machine{f[2], f[3], f[4], f[5]}, number: -1, file: f[7], nonce: f[8]}
	o.pid, ok = parseNumber(f[0])
	if !ok || o.pid == 0 || o.nonce == "" {
		return o, false
	}
	if digits := f[6]; digits != "" {
		digits, o.fixed = strings.CutSuffix(digits, "=")
		if last := digits[len(digits)-1]; last > '9' {
			o.opened = last < 'a'
			o.mark, digits = openfile.Mark(last|0x20), digits[:len(digits)-1]
		}
		o.number, ok = parseNumber(digits)
		ok = ok && (o.mark == openfile.None || o.mark == openfile.NoAtime || o.mark == openfile.NonBlock)
	}
	return o, ok
}

// parseNumber reads a number as strconv.Itoa writes it.
func parseNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && (s[0] != '0' || len(s) == 1)
}

// nonce returns 64 random bits. They have to be unique among the acquisitions of one process in the life of one kernel.
// The test that runs every interleaving replaces it.
var nonce = func() string { return strconv.FormatUint(rand.Uint64(), 36) }

// renewed returns the owner with a nonce of its own.
func (o owner) renewed() owner {
	o.nonce = nonce()
	return o
}

// same reports whether both are the same owner, whatever acquisition their records stem from.
func (o owner) same(p owner) bool {
	o.nonce, p.nonce = "", ""
	return o == p
}

// fate is what this process can tell about another.
type fate uint8

const (
	alive   fate = iota
	dead         // for good: a name never comes twice
	unknown      // on another machine or in another pid namespace; counts as alive
)

// judge tells the fate of a process, as it is seen from a machine.
func (m machine) judge(o owner) fate {
	if f := m.reach(o.machine); f != alive {
		return f
	}
	start, exists := proc.Start(o.pid)
	if !exists || start != o.start && start != "" && o.start != "" {
		return dead
	}
	return alive
}

// reach tells what can be known of the processes of machine o: unknown, or dead all of them, or alive where it is this
// machine.
//
// The same boot is the same kernel, whatever the machine is called by now. Another boot is an earlier one of this
// machine, and all its processes dead, only where its name and its identity are both known and the same, and neither the
// process nor we are in a container: whole clusters are called "localhost", copies of a disk share an identity, and what
// a container shows of either can be another machine's. Everything else is unknown.
func (m machine) reach(o machine) fate {
	switch {
	case o.boot == m.boot && o.boot != "":
	case o.host != m.host || o.id != m.id:
		return unknown
	case o.boot == m.boot:
	case o.boot == "" || m.boot == "" || m.id == "" || m.host == "":
		return unknown
	case !o.isOutermost() || !m.isOutermost():
		return unknown
	default:
		return dead
	}
	if o.namespace != m.namespace {
		return unknown
	}
	return alive
}

// isOutermost reports whether the pid namespace is that of the machine itself, rather than of a container: the inode
// number of the initial one is PROC_PID_INIT_INO, include/linux/proc_ns.h, on every Linux.
func (m machine) isOutermost() bool { return strings.HasPrefix(m.namespace, "4026531836.") }

// word escapes s, and where the result is longer than max bytes replaces its end by a hash of the whole.
func word(s string, max int) string {
	e := escape(s)
	if len(e) <= max {
		return e
	}
	if max < 16 {
		return digest(s)
	}
	e = e[:max-14]
	if i := strings.LastIndexByte(e, '%'); i > len(e)-3 {
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

// escape writes every byte that is not a letter, a digit or one of "._-~" as %XX.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unescape(s string) (plain string, ok bool) {
	for {
		before, after, found := strings.Cut(s, "%")
		plain += before
		if !found {
			return plain, true
		}
		if len(after) < 2 {
			return "", false
		}
		c, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil || after[:2] != strings.ToUpper(after[:2]) {
			return "", false
		}
		plain, s = plain+string([]byte{byte(c)}), after[2:]
	}
}
