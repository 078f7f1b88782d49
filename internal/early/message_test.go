//go:build linux && (amd64 || arm64)

package early

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMessage writes the beginning and the end of a message, as far as there is room.
func TestMessage(t *testing.T) {
	long := strings.Repeat("x", len(buffer))
	for name, want := range map[string]string{
		"flock": "flock: ", "/usr/bin/flock": "flock: ", "bin/": ": ", "": ": ",
		long[2:]: long[2:] + ": ", long[1:]: long[1:] + ":", long: long, long + "x": long,
	} {
		p := process{argv: vector([]string{name})}
		if got := string(buffer[:p.begin()]); got != want {
			t.Errorf("%.40q: %.40q, %d characters", name, got, len(got))
		}
	}
	for errno, want := range map[syscall.Errno]string{
		unix.E2BIG: ": Argument list too long", unix.ENOENT: ": No such file or directory",
		unix.EHWPOISON: "", unix.EHWPOISON + 1: "", 41: "", 58: "", unix.ERFKILL: ": Operation not possible due to RF-kill",
		unix.EL3HLT: ": Level 3 halted",
	} {
		if got := string(buffer[:writeErrno(0, errno)]); got != want {
			t.Errorf("%d: %q", errno, got)
		}
	}
	for _, first := range []int{len(buffer), len(buffer) - 1, len(buffer) - 2, len(buffer) - 3} {
		if end := writeErrno(first, unix.ENOENT); end != len(buffer) {
			t.Errorf("from %d to %d", first, end)
		}
	}
}

// TestMakePrintable: a terminal gets what can be seen, and spaces.
func TestMakePrintable(t *testing.T) {
	const name = "a b\x1f\t\n~\x7f\x80\xff\x1b[31m"
	p := newCString(name)
	makePrintable(p, len(name))
	if got := text(p); got != "a b???~????[31m" {
		t.Errorf("%q", got)
	}
}
