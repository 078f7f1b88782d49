//go:build linux && (amd64 || arm64)

package early

import (
	"strings"
	"testing"
	"unsafe"
)

// vector lays words out as the kernel does.
func vector(words []string) unsafe.Pointer {
	pointers := make([]unsafe.Pointer, len(words)+1)
	for i, word := range words {
		pointers[i] = newCString(word)
	}
	return unsafe.Pointer(&pointers[0])
}

func newCString(word string) unsafe.Pointer { return unsafe.Pointer(&append([]byte(word), 0)[0]) }

// TestParse parses command lines: the first ones are accepted, and all that are accepted mean the same to package cli. The
// compat cases compare both with util-linux.
func TestParse(t *testing.T) {
	for _, line := range []string{
		"f true", "f true -n", "f -c text", "f --command text", "9", "-u 9", "-xsu 9", "-us -e 9", "-ns 9", "9 true",
		"--fd 9 true", "--fd=9 -c text", "-o -- f true", "-F f true", "--no-fork --fcntl f true", "-w5 f true",
		"-nw 5 f true", "--timeout=.25 f true", "--wait 1.000001 f true", "-w 3 -w 0.0 f true", "-E 0 f true",
		"-nE255 f true", "--conflict-exit-code 7 9", "--nonblocking --close f t", "--shared --exclusive 9",
		"--unlock --nb --fd 0 t",
	} {
		if !isRead(t, append([]string{"flock"}, strings.Fields(line)...)) {
			t.Errorf("%q is left to package cli", line)
		}
	}
	for _, line := range []string{
		"", "-n", "--", "f", "-1", "-- -1", "+9", "0x9", "9x", "1234567890", "-", "- true", "-c text", "-c f text",
		"-nc text", "-cn f", "f -c", "f -c a b", "f -c -n", "f -c -n text", "-- -c text", "-- -f true", "--fd 9", "--fd",
		"--fd= true", "--fd -1 true", "--fd 9 -c", "--fd 9 -c -n text", "-F -o f true", "-h", "-V", "-nV f true", "--help",
		"--verbose f true", "-z f true", "--start 1 f true", "--length 1 f true", "--backend auto f true",
		"--permits 1 f true", "--cooldown 1 f true", "--queue 1 f true", "--report 1 f true", "--holders f",
		"--no-such-option f true", "--sh f true", "--shared=1 f true", "--n f true", "--tim 5 f true", "---shared f true",
		"-w", "-w f", "-w -1 f true", "-w 1e3 f true", "-w 0x10 f true", "-w 1s f true", "-w .0009 f true", "-w . f true",
		"-w 1. f true", "-w .1234567 f true", "-w inf f true", "-w=5 f true", "-w5n f true", "--timeout= f true",
		"--timeout", "-E 256 f true", "-E -1 f true", "-E abc f true", "-E", "-E1234567890 f true",
	} {
		isRead(t, append([]string{"flock"}, strings.Fields(line)...))
	}
	for _, words := range [][]string{
		{"flock", "f", ""}, {"flock", ""}, {"flock", "-w", "", "f", "true"}, {"flock", "-w", " 5", "f", "true"},
	} {
		isRead(t, words)
	}
}
