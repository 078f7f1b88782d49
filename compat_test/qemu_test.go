//go:build unix

package compat_test

import (
	"os"
	"path"
	"strings"
)

// A difference is something that is not as on Linux, and the cases that need it.
type difference struct{ need, cases string }

// qemuDifferences lists what a program sees of qemu-user instead of the system.
var qemuDifferences = []difference{
	{"signal dispositions as they are: qemu-user handles all signals, so none stays ignored",
		"signals-ignored* signals-blocked-and-ignored signals-caught-by-flock " +
			"signals-of-a-background-job signals-under-nohup pipe-without-reader-verbose " +
			"ALRM-of-another-does-not-end-the-wait-of-w"},
	{"a flock that starts in some milliseconds", "verbose-duration-is-the-wait"},
	{"deaths without a message: qemu-user reports core dumps",
		"dies-*-of-QUIT dies-*-of-SEGV dies-*-of-ABRT dies-*-of-BUS dies-*-of-FPE dies-*-of-ILL dies-*-of-TRAP " +
			"no-message-on-death death-while-waiting-is-a-signal-not-a-status"},
	{"children in the list of the first thread: qemu-user forks in any thread",
		"argv0-is-as-typed death-is-a-signal-not-a-status"},
	{"signal numbers as they are: qemu-user moves the real-time signals", "status-of-a-real-time-signal"},
	{"a dumpable flag and a parent-death signal of its own: they are those of qemu-user",
		"dumpable-and-death-signal-untouched"},
	{"the environment as it is: qemu-user drops what setenv(3) cannot set",
		"environment-byte-for-byte environment-with-duplicates"},
	{"a set-user-id program: to the kernel the program is qemu-user", "program-with-rights-of-another-user"},
}

// missingHere returns what a case needs and does not find under qemu-user or on another kernel; "" if there is no such
// thing.
func missingHere(c compatCase) string {
	var here []difference
	if os.Getenv("FLOCK_TEST_QEMU") != "" {
		here = qemuDifferences
	} else if otherKernel == "gVisor" {
		here = gvisorDifferences
	}
	return needIn(here, c.name)
}

// needIn returns what a case needs according to a list; "" if it is not in that.
func needIn(list []difference, name string) string {
	for _, d := range list {
		for pattern := range strings.FieldsSeq(d.cases) {
			if match, _ := path.Match(pattern, name); match {
				return d.need
			}
		}
	}
	return ""
}
