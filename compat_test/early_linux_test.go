package compat_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// becomeWithoutThreads becomes argv in a system where clone(2) makes no thread,
// so that no Go runtime starts. The C library makes threads by clone3(2).
func becomeWithoutThreads(argv []string) {
	// offsets in struct seccomp_data, little-endian: number 0, low half of the first argument 16
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAGAIN)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filtered(filter, argv)
}

// hasEarlyRun reports whether the flock to be tested has the run without the Go
// runtime: it depends on the system and on how it was built.
func hasEarlyRun() bool {
	if oursPath == "" {
		return false
	}
	out, err := exec.Command(oursPath, filepath.Join(workDir, "probe"), "sh", "-c", "grep Threads /proc/$PPID/status").Output()
	return err == nil && strings.Join(strings.Fields(string(out)), " ") == "Threads: 1"
}

// message is what flock itself says, which is the part of the Go runtime.
var message = regexp.MustCompile(`(?m)^[^ \n]*: (.*getting lock took|executing|failed to|.*timeout while|cannot|invalid|unrecognized|option|not enough|missing|write error|flock: )|^flock: |^Usage:|from util-linux`)

// The cases that need the Go runtime though no message is seen. For each there
// is a reason why the run without it gives up.
var needRuntime = []struct{ reason, cases string }{
	{"abbreviated options", "abbrev-* nonblock-differs-from-nonblocking new-range-abbreviated"},
	{"numbers with blanks and signs, and exponents", "E-blank-and-sign descriptor-with-blank-and-sign " +
		"new-fdopt-blank w-bad-numbers w-number-forms*"},
	{"--start and --length", "fcntl-length-only fcntl-range-* new-*range* new-suffix-* new-start-* new-length-* " +
		"new-fcntl-unlock-part"},
	{"a descriptor with a byte lock, which may be a permit", "fcntl-fd-rw new-fcntl-fd-convert new-fcntl-fd-unlock"},
	{"words that begin with a dash", "c-command-begins-with-dash dashdash-then-dashed-file single-dash-is-a-file"},
	{"the lock call fails, so the file is opened again", "lock-E*-reopens-for-writing"},
	{"a set-user-id program, which the filter keeps from being one", "program-with-rights-of-another-user"},
	{"the message cannot be seen, or only in part", "execve-fails-and-a-closed-standard-error closed-std*-does-not-write-into-the-lock-file " +
		"errors-come-before-the-* full-stderr* no-fork-not-found-with-stderr-full message-with-odd-argv0"},
	{"--help, --version and --verbose write to standard output", "closed-stdout-* help-* version-* file-size-limit-verbose " +
		"full-* long-verbose-goes-where pipe-without-reader-* verbose-*"},
}

// needsRuntime returns why a case cannot do without the Go runtime; empty if it
// can.
func needsRuntime(c compatCase) string {
	for _, need := range needRuntime {
		for pattern := range strings.FieldsSeq(need.cases) {
			if match, _ := path.Match(pattern, c.name); match {
				return need.reason
			}
		}
	}
	return ""
}

// TestEarly runs the cases where no Go runtime starts: all in which flock says
// nothing, but for those named above.
func TestEarly(t *testing.T) {
	needOurs(t)
	if os.Getenv("FLOCK_TEST_QEMU") != "" {
		t.Skip("qemu-user needs threads itself")
	}
	if !hasEarlyRun() {
		if supported := runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"; supported && os.Getenv("FLOCK_UNDER_TEST") == "" {
			t.Fatal("flock does not run without the Go runtime")
		}
		t.Skip("this flock has no run without the Go runtime")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newModeWorld(t, "early", oursPath)
	w.under = []string{self, "without-threads"}
	table := newTally("Early")
	eachCase(t, table, func(t *testing.T, c compatCase) {
		reason := needsRuntime(c)
		want := expected[c.name]
		if message.MatchString(want.stdout) || message.MatchString(want.stderr) {
			reason = "flock has something to say"
		}
		if reason != "" {
			table.add(func() { table.skipped[reason] = append(table.skipped[reason], c.name) })
			t.Skip(reason)
		}
		got, err := w.run(c)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, table, c, want, got)
	})
}
