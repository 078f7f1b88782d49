package fallback

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"sync"

	"example.org/flock/internal/proc"
)

// A machine is where an owner runs, and by which mount of the filesystem it sees the state directory. What is not known is "".
type machine struct {
	host      string // for people to read, escaped
	id        string // outlives a reboot
	boot      string // one run of the kernel
	namespace string // where process ids are counted
	device    string // of the state directory
}

// thisMachine is this machine, but for the device.
var thisMachine = sync.OnceValue(func() machine {
	m := proc.ThisMachine()
	host, _ := os.Hostname()
	host = escape(host)
	return machine{host: host[:min(len(host), maxHost)], id: digest(m.ID), boot: digest(m.Boot), namespace: m.Namespace}
})

// maxHost is how much of the name of a host there is in a name, which stays under 255 bytes.
const maxHost = 64

// A reach is what this process can learn of an owner.
type reach uint8

const (
	here    reach = iota // whether it lives can be asked
	past                 // it is of an earlier boot or of a filesystem that was unmounted, and dead
	mounted              // it sees the state directory by another mount
	far                  // it may be on another machine
)

// reach tells what can be learnt of an owner on machine o.
//
// A FIFO lives in one kernel and one superblock. Another boot is an earlier one of this machine, and all its processes are
// dead, only where its name and its identity are both known and the same, and neither it nor this process is in a container:
// whole clusters are called "localhost", copies of a disk share an identity, and what a container shows of either can be
// another machine's.
func (m machine) reach(o machine) reach {
	switch {
	case m.sharesKernel(o) && o.device == m.device:
		return here
	case m.boot != "" && m.boot == o.boot && isUnmounted(o.device):
		return past
	case m.sharesKernel(o):
		return mounted
	case o.boot == "" || m.boot == "" || o.host == "" || o.host != m.host || o.id == "" || o.id != m.id:
		return far
	case !o.isOutermost() || !m.isOutermost():
		return far
	}
	return past
}

// sharesKernel reports whether both are in one kernel. Where a system has no boot id, or a chroot no /proc to tell it, the name
// of the machine must do.
func (m machine) sharesKernel(o machine) bool {
	if m.boot != "" && o.boot != "" {
		return m.boot == o.boot
	}
	return m.host == o.host && m.host != "" && (m.id == o.id || m.id == "" || o.id == "")
}

// isOutermost reports whether the pid namespace is that of the machine itself, rather than of a container: the inode
// number of the initial one is PROC_PID_INIT_INO, include/linux/proc_ns.h, on every Linux.
func (m machine) isOutermost() bool { return m.namespace == "4026531836" }

// where says, of an owner on machine o that is out of reach, where it runs.
func (m machine) where(o machine) string {
	switch m.reach(o) {
	case here:
		return "of another pid namespace on host " + o.host
	case mounted:
		return "on host " + o.host + ", by another mount of the filesystem"
	}
	if o.host == m.host && o.boot != "" {
		return "of another boot on host " + o.host
	}
	return "on host " + o.host
}

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
