//go:build unix

package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/locks"
)

// beyond/*.sh tests what util-linux does not have. The scripts are like those in cases/, but each contains the output
// that is expected of it, standard output and error together. A line "#> text" is a line of output; "#native> text" and
// "#directory> text" are for one way of locking only. $USER stands for the user who runs the tests. The variable LOCKS
// tells the script which way it is. The third way, half, is for permits and queues only: the kernel has flock(2) and no
// byte locks.
//
// A case with the directive kernel runs with kernel locks only, one with the directive directory with the directory
// lock only.

// A beyondCase is a script with its expected output, by the way of locking.
type beyondCase struct {
	compatCase
	output map[string]string
}

func readBeyond(t *testing.T) (all []beyondCase) {
	t.Helper()
	cases, err := readCases("beyond")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, c := range cases {
		b := beyondCase{c, map[string]string{"native": "", "directory": "", "half": ""}}
		if c.directory != "" {
			delete(b.output, "native")
		}
		if c.kernel != "" {
			delete(b.output, "directory")
			delete(b.output, "half")
		}
		b.readOutput()
		b.script = "exec 2>&1\n" + b.script
		all = append(all, b)
	}
	return all
}

// readOutput reads the expected output from the script.
func (c *beyondCase) readOutput() {
	for line := range strings.Lines(c.script) {
		for locks := range c.output {
			if locks == "half" && !strings.HasPrefix(c.name, "permits-") && !strings.HasPrefix(c.name, "queue-") {
				delete(c.output, locks)
				continue
			}
			for _, mark := range []string{"#>", "#" + locks + ">"} {
				if text, ok := strings.CutPrefix(line, mark); ok {
					c.output[locks] += strings.ReplaceAll(strings.TrimPrefix(text, " "), "$USER", userName)
				}
			}
		}
	}
}

// hasHalf reports whether this system does as the third way with a case: it has flock(2), and for a permit or for a
// place in a queue no locks of bytes.
func hasHalf(name string) bool {
	if strings.HasPrefix(name, "permits-") {
		return !locks.HasRanges
	}
	return runtime.GOOS != "linux"
}

// asksKernel finds scripts that ask, with kernel locks, who has a lock or waits for it. The one about a cooldown alone
// wants no answer to that.
var asksKernel = regexp.MustCompile(`--rep|--hol|\bplaced\b`)

// runBeyond runs cases for the given way of locking.
func runBeyond(t *testing.T, w *world, locks string, d depth) {
	t.Parallel()
	w.env = append(w.env, "LOCKS="+locks)
	for _, c := range readBeyond(t) {
		if d.reasonNotToRun(c.compatCase) != "" {
			continue
		}
		want, ok := c.output[locks]
		usesDirectory := locks != "native"
		if half, found := c.output["half"]; ok && found && locks == "native" && hasHalf(c.name) {
			want, usesDirectory = half, true
		}
		if !ok {
			continue
		}
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			startInTime(t, c.compatCase)
			if locks == "native" && asksKernel.MatchString(c.script) && c.name != "report-of-a-cooldown-alone" {
				c.needs = append(slices.Clip(c.needs), "locks")
			}
			if need := unmetNeed(c.compatCase); need != "" {
				t.Skip("needs " + need)
			}
			if usesDirectory && numberForms.MatchString(c.script) && !numbersInDirectory() {
				t.Skip("on this system a descriptor has no directory lock")
			}
			got, err := w.run(c.compatCase)
			if err != nil {
				t.Fatal(err)
			}
			checkBeyond(t, c, want, got)
		})
	}
}

// checkBeyond compares the output of a run with the expected one, and reports whether it is that.
func checkBeyond(t *testing.T, c beyondCase, want string, got result) bool {
	output := jobNotice.ReplaceAllString(got.stdout, "")
	if !inInitialPidNamespace() { // the line is printed where the cases do not expect it
		want, output = namespaceNotice.ReplaceAllString(want, ""), namespaceNotice.ReplaceAllString(output, "")
	}
	if output != want || got.exit == "hung" {
		t.Errorf("different (beyond/%s.sh), exit %s\n%s", c.file, got.exit, diffLines(want, output))
		return false
	}
	return true
}

// namespaceNotice is what --holders says in another pid namespace than the initial one.
var namespaceNotice = regexp.MustCompile(`(?m)^flock: only processes of this pid namespace .*\n`)

func inInitialPidNamespace() bool {
	link, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || link == "pid:[4026531836]"
}

// newBeyondWorld makes a world for our program in which the variable SELF is the path of the test binary, which does
// what a shell cannot.
func newBeyondWorld(t *testing.T, name string) *world {
	t.Helper()
	needOurs(t)
	return newWorldWithSelf(t, name, oursPath)
}

func newWorldWithSelf(t *testing.T, name, program string) *world {
	t.Helper()
	w := newModeWorld(t, name, program)
	self := filepath.Join(w.dir, "self")
	if err := copyProgram(selfPath(t), self); err != nil { // other users may not reach the original
		t.Fatal(err)
	}
	w.env = []string{"SELF=" + self}
	w.drop = regexp.MustCompile("(?m)^flock: " + busyLine)
	return w
}

// "$SELF" fill FIFO writes to a FIFO until it is full. How much it takes differs from system to system.
func init() {
	if len(os.Args) != 3 || os.Args[1] != "fill" {
		return
	}
	fd, err := unix.Open(os.Args[2], unix.O_WRONLY|unix.O_NONBLOCK, 0)
	for _, size := range []int{512, 1} {
		for n := 0; err == nil || err == unix.EINTR || n == 0 && err == unix.EAGAIN; n++ {
			_, err = unix.Write(fd, make([]byte, size))
		}
	}
	if err != unix.EAGAIN {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestBeyondNative(t *testing.T) {
	runBeyond(t, newBeyondWorld(t, "beyond-native"), "native", depth{everyCase, everyCase})
}

func TestBeyondDirectory(t *testing.T) {
	needDirectoryLock(t)
	w := newBeyondWorld(t, "beyond-directory")
	w.env = append(w.env, "FLOCK_BACKEND=directory", "NO_KERNEL_LOCKS=1")
	runBeyond(t, w, "directory", depth{check: inFiles("permits", "belief"), test: differsByLock})
}

// TestBeyondAbsent runs them where the kernel has no locks, and FLOCK_BACKEND is not set. Permits, queues, removal and
// holders each choose the way of locking for themselves; make long runs all cases.
func TestBeyondAbsent(t *testing.T) {
	skipInCheck(t)
	if !canHideLocks {
		t.Skip("system calls cannot be filtered here")
	}
	needDirectoryLock(t)
	w := newBeyondWorld(t, "beyond-absent")
	w.under = []string{filepath.Join(w.dir, "self"), "without-kernel-locks"}
	w.env = append(w.env, "NO_KERNEL_LOCKS=1")
	runBeyond(t, w, "directory", depth{test: inFiles("permits", "queue", "remove", "holders-directory")})
}

// TestBeyondHalf runs the cases of --permits and --queue where the permit or the place comes from the directory lock,
// and the lock, or the shared lock that excludes exclusive locks, comes from the kernel.
func TestBeyondHalf(t *testing.T) {
	skipInCheck(t)
	if !canHideLocks || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("system calls cannot be filtered here")
	}
	w := newBeyondWorld(t, "beyond-half")
	w.under = []string{filepath.Join(w.dir, "self"), "without-byte-locks"}
	runBeyond(t, w, "half", depth{test: everyCase})
}

// TestHolders32Bit runs the cases about waiters for open file description locks with a program of 32 bits, in which
// these locks are another system call.
func TestHolders32Bit(t *testing.T) {
	t.Parallel()
	skipInCheck(t)
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" || os.Getenv("FLOCK_UNDER_TEST") != "" {
		t.Skip("builds and runs a program for linux/386")
	}
	program := filepath.Join(t.TempDir(), "flock386")
	build := exec.Command("go", "build", "-trimpath", "-o", program)
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=386")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !succeeds(program, "--version") {
		t.Skip("this kernel runs no program for linux/386")
	}
	w := newModeWorld(t, "beyond-386", program)
	w.env = []string{"LOCKS=native"}
	for _, c := range readBeyond(t) {
		if !strings.HasPrefix(c.name, "holders-fcntl") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if need := unmetNeed(c.compatCase); need != "" {
				t.Skip("needs " + need)
			}
			got, err := w.run(c.compatCase)
			if err != nil {
				t.Fatal(err)
			}
			checkBeyond(t, c, c.output["native"], got)
		})
	}
}
