//go:build linux && (amd64 || arm64)

package early

import (
	"math/rand/v2"
	"reflect"
	"syscall"
	"testing"
	"time"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/locks"
)

// TestParseAgrees makes command lines of random words. Those that parse accepts must mean the same to package cli.
func TestParseAgrees(t *testing.T) {
	flags := []string{
		"-s", "-x", "-e", "-u", "-n", "-o", "-F", "-h", "-V", "-ns", "-xo", "-sF", "-z", "--shared", "--exclusive",
		"--unlock", "--nonblock",
		"--nonblocking", "--nb", "--close", "--no-fork", "--fcntl", "--verbose", "--sh", "--nonb", "--fcntl=1",
		"--remove",
		"-w5", "-w", "-nw", "-nw0", "-E9", "-E", "-sE", "-w.5", "-w=5", "--timeout=2", "--timeout", "--wait",
		"--wait=.25", "--tim=3",
		"--conflict-exit-code", "--conflict-exit-code=8", "--fd", "--fd=9", "--start=1", "--length", "--permits=2",
		"--cooldown=1", "--queue=1", "--report=1",
		"--backend=flock", "--holders", "-", "--", "-\x01", "-\x02",
	}
	values := []string{"0", "1", "7", "255", "256", "9.5", ".000001", "1.000001", "1.0000001", "00", "+5", " 5", "-5",
		"0x10", "1e3", "5s", ".", "", "1.", "0.0", ".001", "123456789", "1234567890", "f", "true"}
	operands := []string{"f", "9", "09", "d/f", "true", "-c", "--command", "text", "-n", "", "--", "-f"}
	accepted := 0
	for range 40_000 {
		words := []string{"flock"}
		for range rand.N(4) {
			words = append(words, flags[rand.N(len(flags))])
			if rand.N(3) == 0 {
				words = append(words, values[rand.N(len(values))])
			}
		}
		for range rand.N(4) {
			words = append(words, operands[rand.N(len(operands))])
		}
		if isRead(t, words) {
			accepted++
		}
	}
	if accepted < 2_000 {
		t.Errorf("parse has accepted %d lines only", accepted)
	}
}

// isRead reports whether parse accepts a command line, which must mean the same to package cli.
func isRead(t *testing.T, words []string) bool {
	t.Helper()
	shell := func(text string) []string { return []string{"shell", text} }
	unset := func(string) (string, bool) { return "", false }
	var o options
	if !o.parse(len(words), vector(words)) {
		return false
	}
	want := &cli.Options{
		Op: map[uintptr]locks.Op{
			syscall.LOCK_SH: locks.Shared, syscall.LOCK_EX: locks.Exclusive, syscall.LOCK_UN: locks.Unlock,
		}[o.op],
		Nonblock: o.nonblock, HasTimeout: o.hasTimeout, Timeout: time.Duration(o.timeout), ConflictExit: o.conflictExit,
		FD: o.fd, Close: o.closeFd, NoFork: o.noFork, BackendSource: "FLOCK_BACKEND",
	}
	want.Config.Fcntl, want.Config.Flock, want.Directory = true, !o.fcntl, !o.fcntl
	if o.fcntl {
		want.Backend = cli.Fcntl
	}
	if o.fd < 0 {
		want.File = words[o.file]
	}
	switch {
	case o.shell:
		want.Command, want.ByShell = shell(words[o.command+1]), true
	case o.command > 0:
		want.Command = words[o.command:]
	}
	got, err := cli.Parse(words, unset, shell)
	if err == nil {
		if len(got.Command) == 0 {
			got.Command = nil
		}
		if want.Timeout-got.Timeout == time.Microsecond {
			got.Timeout = want.Timeout // it truncates a floating-point number
		}
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %+v, but to package cli: %+v, %v", words, *want, got, err)
	}
	return true
}
