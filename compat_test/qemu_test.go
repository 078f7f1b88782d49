//go:build unix

package compat_test

import (
	"os"
	"path"
	"strings"
)

// qemuDifferences lists what a program sees of qemu-user instead of the system,
// and the cases that look at it.
var qemuDifferences = []struct{ need, cases string }{
	{"signal dispositions as they are: qemu-user handles all signals, so none stays ignored",
		"signals-ignored* signals-blocked-and-ignored signals-caught-by-flock signals-of-a-background-job signals-under-nohup " +
			"pipe-without-reader-verbose ALRM-of-another-does-not-end-the-wait-of-w"},
	{"a flock that starts in some milliseconds", "verbose-duration-is-the-wait"},
	{"deaths without a message: qemu-user reports core dumps",
		"dies-*-of-QUIT dies-*-of-SEGV dies-*-of-ABRT dies-*-of-BUS dies-*-of-FPE dies-*-of-ILL dies-*-of-TRAP " +
			"no-message-on-death death-while-waiting-is-a-signal-not-a-status"},
	{"children in the list of the first thread: qemu-user forks in any thread", "argv0-is-as-typed death-is-a-signal-not-a-status"},
	{"signal numbers as they are: qemu-user moves the real-time signals", "status-of-a-real-time-signal"},
	{"a dumpable flag and a parent-death signal of its own: they are those of qemu-user", "dumpable-and-death-signal-untouched"},
	{"the environment as it is: qemu-user drops what setenv(3) cannot set", "environment-byte-for-byte environment-with-duplicates"},
	{"a set-user-id program: to the kernel the program is qemu-user", "program-with-rights-of-another-user"},
}

// hiddenByQemu returns what a case needs and qemu-user hides; "" if there is no
// such thing, or if the tests do not run under qemu.
func hiddenByQemu(c compatCase) string {
	if os.Getenv("FLOCK_TEST_QEMU") == "" {
		return ""
	}
	for _, d := range qemuDifferences {
		for pattern := range strings.FieldsSeq(d.cases) {
			if match, _ := path.Match(pattern, c.name); match {
				return d.need
			}
		}
	}
	return ""
}
