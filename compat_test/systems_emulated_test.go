//go:build unix

package compat_test

import (
	"os"
	"path"
	"strings"
	"testing"
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

// otherKernel is the name of the kernel if that is not Linux, though it has its system calls. An answer that is not
// the recorded one is right there if the installed util-linux gives the same answer there.
var otherKernel = os.Getenv("FLOCK_TEST_KERNEL")

// gvisorDifferences lists what is not as on Linux in gVisor, for cases that util-linux cannot judge: they are not for
// it, the installed release does not know them, or they do not end.
var gvisorDifferences = []difference{
	{"a lock that becomes shared wakes those who wait for a shared one", "convert-down-lets-the-waiter-in"},
	{"a shared lock is lost if it cannot become exclusive", "two-children-upgrade"},
	{"the end of a range is checked", "fcntl-start-overflow"},
	{"EISDIR, not EACCES, from open(2) with O_CREAT of a directory that may not be written",
		"new-fcntl-directory-not-mine"},
	{"set-user-id programs", "backend-program-not-for-set-user-id " +
		"variables-of-the-user-of-a-set-user-id-program limit-process-of-another-user " +
		"limit-process-that-was-of-another-user"},
	{"ETXTBSY for a program that runs",
		"permits-of-the-script-itself permits-of-a-program-that-runs fcntl-of-the-script-itself"},
	{"no SIGHUP for a session in which a process is stopped while another ends",
		"time-over-while-stopped permits-flock-stopped cooldown-kept-until-it-is-set " +
			"timer-signal-before-the-lock-call kill-children-signal-to-all limit-while-flock-is-stopped"},
	{"timeout(1) dies of the SIGKILL that it sends to its group", "recipe-a-time-limit"},
	{"kcmp(2)", "report-names-the-command report-what-is-left-behind report-what-is-left-behind-on-a-fifo " +
		"one-of-two-numbers-is-closed " +
		"holders-exclusive holders-modes holders-of-another-user holders-of-a-directory"},
	{"O_NOFOLLOW with O_DIRECTORY does not follow a link",
		"hostile-link hostile-link-to-nothing hostile-staging-is-a-link"},
	{"a process 1 that a signal from outside of its pid namespace does not end", "belief-process-1-is-not-terminated"},
	{"processes that other users may not look into", "hostile-holder-that-cannot-be-looked-into"},
	{"a tmpfs that counts its room as on Linux", "hostile-disk-full"},
	{"one boot id in all mounts of /proc",
		"owner-in-another-pid-namespace belief-holders-of-another-pid-namespace " +
			"belief-number-of-a-pid-namespace-that-comes-again"},
	{"an initial pid namespace: processes outside of containers seem to be in one",
		"holders-a-script-of-another-user-that-has-ended"},
	{"a host name in /proc/sys that can be written", "holders-a-script-that-has-ended-on-another-machine"},
	{"loop devices", "belief-ustat-that-is-forbidden belief-filesystem-of-the-state-that-was-unmounted"},
	{"a choice of the next process id", "belief-process-id-that-comes-again belief-holders-are-only-who-was-seen"},
	{"signals in /proc/PID/status", "belief-no-fork-catches-nothing belief-signal-to-all-of-a-job " +
		"belief-signal-to-a-waiter belief-signal-that-the-command-survives limit-the-command-differs-in-nothing " +
		"limit-ignored-sigcont"},
	{"ENOENT, not EPERM, from mkdir(2) below /proc", "device-a-file-below-proc"},
	{"/proc/locks", "lifeline-without-the-variable"},
	{"strace sees the end of a process with threads",
		"timer-cannot-be-made timer-and-no-clock alarm-at-every-call-of-w"},
	{"a flock that starts in some milliseconds",
		"cooldown-touch-extends-it-for-one-who-waits abbreviations-all-as-the-reference"},
}

// isDisturbed reports whether a script can have ended so without a fault of flock: in gVisor strace(1) sometimes sleeps
// on although its process is a zombie, or runs on although it has stopped there; and a session in which it has stopped
// a process while another one ends gets a SIGHUP.
func isDisturbed(c compatCase, r result) bool {
	isSo := r.exit == "hung" || r.exit == "by signal 1"
	return otherKernel == "gVisor" && isSo && strings.Contains(c.script, "strace ")
}

// referenceThere returns a world for the installed util-linux on another kernel, nil on Linux.
func referenceThere(t *testing.T) *world {
	if otherKernel == "" || referencePath == "" {
		return nil
	}
	return newModeWorld(t, "reference-for-"+t.Name(), referencePath)
}
