package fallback

import (
	"os"
	"strconv"
	"strings"

	"example.org/flock/internal/proc"
)

// askMachine asks the system for a machine, but for the host and the device.
func askMachine() machine {
	m := machine{
		user: user{strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid()), namespaceOf("user")},
		boot: strings.ReplaceAll(firstLine("/proc/sys/kernel/random/boot_id"), "-", ""),
		pids: pidNamespace{namespaceOf("pid"), startOfProcess1()},
	}
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} { // machine-id(5)
		if id := firstLine(file); len(id) == 32 {
			m.id = id
			break
		}
	}
	return m
}

// namespaceOf returns the inode number of a namespace of this process, from a link like "pid:[4026531836]".
func namespaceOf(kind string) string {
	link, _ := os.Readlink("/proc/self/ns/" + kind)
	_, number, _ := strings.Cut(link, "[")
	return strings.TrimSuffix(number, "]")
}

// startOfProcess1 returns when process 1 of this pid namespace was started, "" if that is unknown.
func startOfProcess1() string {
	s, err := readStat(1)
	if err != nil || checkOwnProc() != nil {
		return ""
	}
	return strconv.FormatUint(s.start, 36)
}

func firstLine(path string) string {
	text, _ := proc.ReadSmall(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
