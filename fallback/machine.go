package fallback

import (
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
)

// A machine is where an owner runs, for which user, and by which mount of the filesystem it sees the state directory.
// What is not known is "". It matches nothing, except in sharesKernel; but "" is also the device on Windows.
type machine struct {
	user   user
	host   string // for people to read, escaped
	id     string // outlives a reboot
	boot   string // one run of the kernel
	pidNS  pidNamespace
	device string // the number of that of the state directory; old records have it with a "+" in front
}

// A user is who may look into processes: a user's number and group, and the user namespace in which they mean
// something.
type user struct{ number, group, namespace string }

// A pidNamespace is where process ids are counted. The kernel uses the number of a namespace that has ended again, so
// the start of its process 1 belongs to the name.
type pidNamespace struct {
	number string
	start1 string // of process 1, in clock ticks since boot, base 36
}

// The inode numbers of the initial namespaces, which are the same on every Linux: include/linux/proc_ns.h.
const (
	initialPIDs  = "4026531836" // PROC_PID_INIT_INO
	initialUsers = "4026531837" // PROC_USER_INIT_INO
)

// onlyNamespace is the pid namespace of systems that have one only.
var onlyNamespace = pidNamespace{number: initialPIDs}

func (n pidNamespace) isInitial() bool { return n.number == initialPIDs }

// is reports whether both are one namespace.
func (n pidNamespace) is(o pidNamespace) bool {
	return n.number != "" && n.number == o.number && (n.isInitial() || n.start1 != "" && n.start1 == o.start1)
}

// sharesClock reports whether the start times of processes can be compared. A time namespace shifts those that its
// processes read, that of process 1, too.
func (n pidNamespace) sharesClock(o pidNamespace) bool {
	return n.is(o) && n.start1 != "" && n.start1 == o.start1
}

func (u user) is(o user) bool { return u == o && u.number != "" && u.namespace != "" }

// thisMachine is this machine, but for the device.
var thisMachine = sync.OnceValue(func() machine {
	m := askMachine()
	host, _ := os.Hostname()
	host = escape(host)
	m.host = host[:min(len(host), maxHost)]
	m.id, m.boot = digest(identity(m.id)), digest(m.boot)
	return m
})

// identity returns what a system tells as the id of a machine, "" if that tells nothing: zeros in a jail of FreeBSD
// (DEFAULT_HOSTUUID in sys/jail.h) and in QEMU, or the one digit that firmware without an id has in all places.
func identity(told string) string {
	if told == "" || strings.Trim(told, told[:1]+"-") == "" {
		return ""
	}
	return told
}

// maxHost is how much of the name of a host there is in a name, which stays under 255 bytes.
const maxHost = 34

// A relation is that of this process to an owner: what it can learn of that.
type relation uint8

const (
	askable      relation = iota // whether it lives can be asked
	pastBoot                     // it is of an earlier boot, and dead
	otherMount                   // it sees the state directory by another mount
	otherMachine                 // it may be on another machine
)

// relation tells what can be learnt of an owner on machine o. A FIFO lives in one kernel and one superblock: whoever
// sees the directory by another mount has another FIFO under the same name.
//
//	its kernel             its mount
//	this one               this one           askable
//	this one               another            otherMount
//	an earlier boot's      any                pastBoot
//	another, or unknown    any                otherMachine
func (m machine) relation(o machine) relation {
	switch isHere := m.sharesKernel(o); {
	case isHere && m.device == strings.TrimPrefix(o.device, "+"):
		return askable
	case isHere:
		return otherMount
	case m.hasRestartedSince(o):
		return pastBoot
	}
	return otherMachine
}

// sharesKernel reports whether both are in one kernel. Where a system has no boot id, or a chroot no /proc to tell it,
// the name of the machine and its identity must do. Some systems have no identity, and then the name alone does; a
// machine may have no name, and then its identity does. One with a name is never the same as one without.
func (m machine) sharesKernel(o machine) bool {
	if m.boot != "" && o.boot != "" {
		return m.boot == o.boot
	}
	return m.host == o.host && m.id == o.id && (m.host != "" || m.id != "")
}

// hasRestartedSince reports whether o is an earlier boot of this machine, all of whose processes are dead. That is
// certain only where name and identity are both known and the same, and neither is in a container: whole clusters are
// called "localhost", copies of a disk share an identity, and what a container shows of either can be another
// machine's.
func (m machine) hasRestartedSince(o machine) bool {
	isOther := m.boot != "" && o.boot != "" && m.boot != o.boot
	isSame := m.host != "" && m.host == o.host && m.id != "" && m.id == o.id
	return isOther && isSame && m.pidNS.isInitial() && o.pidNS.isInitial()
}

// where says where an owner on machine o runs, "" if that is here, and its process id means the same process here.
func (m machine) where(o machine) string {
	switch is := m.relation(o); {
	case is == askable && m.pidNS.is(o.pidNS):
		return ""
	case is == askable && m.pidNS.number == o.pidNS.number && (m.pidNS.start1 == "" || o.pidNS.start1 == ""):
		return "that may be of another pid namespace"
	case is == askable:
		return "of another pid namespace"
	case is == otherMount:
		return o.onHost() + ", by another mount of the filesystem"
	case m.isOtherBoot(o):
		return "of another boot " + o.onHost()
	}
	return o.onHost()
}

// onHost names the host for people.
func (m machine) onHost() string {
	switch {
	case m.host != "":
		return "on host " + m.host
	case m.isAnonymous():
		return "on a machine that has neither a host name nor an id"
	}
	return "on a machine without a host name"
}

// isAnonymous reports whether nothing tells the machine from others, so that no process knows that it is on it.
func (m machine) isAnonymous() bool { return m.host == "" && m.id == "" && m.boot == "" }

// isOtherBoot reports whether an owner that cannot be asked ran on a machine of this name: this one, before it was
// restarted, or another one.
func (m machine) isOtherBoot(o machine) bool {
	return m.relation(o) == otherMachine && o.host == m.host && o.boot != ""
}

// nonce returns 64 random bits. The test that runs every interleaving replaces it.
var nonce = func() string { return strconv.FormatUint(rand.Uint64(), 36) }

// digest is at most 13 letters and digits that differ for different s, and "" for "".
func digest(s string) string {
	if s == "" {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(s))
	return strconv.FormatUint(h.Sum64(), 36)
}

// escape writes every byte that is not a letter, a digit or one of "._-~" as %XX.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
