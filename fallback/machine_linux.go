package fallback

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"example.org/flock/internal/proc"
)

// askMachine asks the system for a machine, but for the host and the device.
func askMachine() machine {
	const ns = "/proc/self/ns"
	m := machine{
		user:  user{strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid()), namespaceOf(ns, "user", initialUsers)},
		boot:  strings.ReplaceAll(firstLine("/proc/sys/kernel/random/boot_id"), "-", ""),
		pidNS: pidNamespace{namespaceOf(ns, "pid", initialPIDs), startOfProcess1()},
	}
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} { // machine-id(5)
		if id := firstLine(file); len(id) == 32 {
			m.id = id
			break
		}
	}
	if m.boot == "" && m.id == "" { // in a chroot: no other process can be known to be on this machine
		m.boot = nonce()
	}
	return m
}

// namespaceOf returns the inode number of a namespace of this process, from a link like "pid:[4026531836]" in a
// directory like /proc/self/ns. There is none if the kernel was built without namespaces of that kind: then the initial
// one is the only one. Linux 3.8 has brought these links; the one of mount namespaces is always there since then.
func namespaceOf(dir, kind, initial string) string {
	link, err := os.Readlink(dir + "/" + kind)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Readlink(dir + "/mnt"); err == nil {
			return initial
		}
	}
	_, number, _ := strings.Cut(link, "[")
	return strings.TrimSuffix(number, "]")
}

// startOfProcess1 returns when process 1 of this pid namespace was started, "" if that is unknown.
func startOfProcess1() string {
	s, err := proc.ReadStat(1)
	if err != nil || proc.CheckOwn() != nil {
		return ""
	}
	return strconv.FormatUint(s.Start, 36)
}

func firstLine(path string) string {
	text, _ := proc.ReadSmall(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
