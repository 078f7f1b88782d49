//go:build unix

package compat_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A world is one environment in which the cases run: a flock on PATH, variables, limits.
type world struct {
	dir     string   // holds bin/ and a directory for every run
	env     []string // in addition to the fixed variables
	under   []string // command that runs the script's bash, for example under a system call filter
	limit   time.Duration
	grows   bool           // the limit, with the load: it is for an idle machine
	drop    *regexp.Regexp // lines that flock prints in this world only, and that are not compared
	prelude string
}

// caseLimit is how long a script may take. Scripts take a few seconds at most, but more where the machine has much else
// to do.
const caseLimit = 2 * time.Minute

// newWorld makes the directory bin/ that comes first in the PATH of the scripts: flock is a link to program, and links
// names the other programs.
func newWorld(base, name, program string, links map[string]string) (*world, error) {
	prelude, err := os.ReadFile("prelude.sh")
	if err != nil {
		return nil, err
	}
	w := &world{dir: filepath.Join(base, name), limit: caseLimit, prelude: string(prelude)}
	bin := filepath.Join(w.dir, "bin")
	// with go test -count there is one of an earlier run
	if err := errors.Join(os.RemoveAll(w.dir), os.MkdirAll(bin, 0o755)); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Symlink(program, filepath.Join(bin, "flock")), copyElsewhere("bin/wc", bin),
		copyElsewhere("bin/ls", bin),
		copyElsewhere("missing/timeout", filepath.Join(w.dir, "missing"))); err != nil {
		return nil, err
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

var (
	duration = regexp.MustCompile(`took [0-9]+\.[0-9]{6} seconds`)
	// bash reports a job that a signal ended at any time: before, after or between other lines
	jobNotice = regexp.MustCompile(`(?m)^(script: line [0-9]+: +[0-9]+ |\[[0-9]+\][+-]? ).*\n`)
)

// run runs the script of c in this world and returns what a user sees of it.
func (w *world) run(c compatCase) (result, error) {
	r, err := w.runOnce(c)
	for n := 0; n < 3 && isDisturbed(c, r); n++ {
		r, err = w.runOnce(c)
	}
	return r, err
}

func (w *world) runOnce(c compatCase) (result, error) {
	top, err := os.MkdirTemp(w.dir, "run-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(top)
	dir := filepath.Join(top, "dir")
	script := filepath.Join(top, "script")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777),
		os.WriteFile(script, []byte(w.prelude+"each="+c.each+"\n"+c.script), 0o644)); err != nil {
		return result{}, err
	}
	fifos := []string{filepath.Join(top, "idle"), filepath.Join(top, "wake.go")}
	for _, name := range wakeName.FindAllString(c.script, -1) {
		if path := filepath.Join(top, name); !slices.Contains(fifos, path) {
			fifos = append(fifos, path)
		}
	}
	wakeUps, err := openFIFOs(fifos...)
	defer wakeUps()
	if err != nil {
		return result{}, err
	}

	argv := append(slices.Clone(w.under), bashPath, script)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + w.path(c),
		"HOME=" + dir, "LC_ALL=C", "SHELL=/bin/sh", "TZ=UTC",
	}, w.env...)
	if !inInitialPidNamespace() {
		cmd.Env = append(cmd.Env, "LOCKS_ARE_HIDDEN=1")
	}
	// Files, not pipes: the harness must not wait for processes that a script leaves running. The script gets a
	// session, because with job control it makes process groups of its own.
	outs := [2]*os.File{}
	for i, name := range []string{"stdout", "stderr"} {
		f, err := os.OpenFile(filepath.Join(top, name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
		if err != nil {
			return result{}, err
		}
		defer f.Close()
		outs[i] = f
	}
	cmd.Stdout, cmd.Stderr = outs[0], outs[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	ended, left := make(chan struct{}), make(chan string, 1)
	go func() {
		if w.awaitLimit(ended) {
			left <- processesOf(cmd.Process.Pid, dir)
			killSession(cmd.Process.Pid, dir)
			killHome(dir)
		}
		close(left)
	}()
	cmd.Wait()
	close(ended)
	processes, hung := <-left
	killSession(cmd.Process.Pid, dir)

	r := result{exit: strconv.Itoa(cmd.ProcessState.ExitCode())}
	if hung {
		r.exit = "hung"
		fmt.Fprintf(outs[0], "\nhung, with these processes:\n%s", processes)
	} else if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		r.exit = fmt.Sprintf("by signal %d", status.Signal())
	}
	for i, out := range []*string{&r.stdout, &r.stderr} {
		text, err := os.ReadFile(outs[i].Name())
		if err != nil {
			return result{}, err
		}
		*out = normalise(string(text), w, top)
		if out == &r.stderr {
			*out = jobNotice.ReplaceAllString(*out, "")
		}
	}
	if c.unordered != "" {
		r.stdout = sortLines(r.stdout)
	}
	return r, nil
}

// wakeName finds the FIFOs that a script reads.
var wakeName = regexp.MustCompile(`\bwake\.[-\w]+`)

// openFIFOs makes the FIFOs that prelude.sh speaks of, for everybody, and keeps them open: a shell that opens one never
// waits for its other end, and what is written stays there until it is read.
func openFIFOs(paths ...string) (closeAll func(), err error) {
	var open []*os.File
	closeAll = func() {
		for _, f := range open {
			f.Close()
		}
	}
	for _, path := range paths {
		if err := errors.Join(unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
			return closeAll, err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return closeAll, err
		}
		open = append(open, f)
	}
	return closeAll, nil
}

// normalise removes what differs from run to run, and from system to system: paths, durations, the text of an error, and
// signals of the C library.
func normalise(text string, w *world, top string) string {
	text = strings.ReplaceAll(text, filepath.Join(top, "script"), "script")
	text = strings.ReplaceAll(text, filepath.Join(top, "dir"), "$DIR")
	text = strings.ReplaceAll(text, filepath.Join(w.dir, "bin"), "$BIN")
	if w.drop != nil {
		text = w.drop.ReplaceAllString(text, "")
	}
	text = signalMask.ReplaceAllStringFunc(text, func(line string) string {
		name, digits, _ := strings.Cut(line, "\t")
		mask, _ := strconv.ParseUint(digits, 16, 64)
		return fmt.Sprintf("%s\t%016x", name, mask&^libcSignals)
	})
	text = strings.ReplaceAll(text, outOfRange(syscall.ERANGE), outOfRangeOnLinux)
	return duration.ReplaceAllString(text, "took N seconds")
}

const outOfRangeOnLinux = "Numerical result out of range"

// outOfRange returns what this system says of ERANGE, as flock prints it.
func outOfRange(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// The C library uses signals 32 and 33 itself, and a program that it starts with
// posix_spawn(3) ignores them. make starts the tests that way.
const libcSignals = 1<<31 | 1<<32

var signalMask = regexp.MustCompile(`Sig(Ign|Blk|Cgt):\t[0-9a-f]{16}\b`)

func sortLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// killSession kills everything that a script in dir has left running. Killing the process group is not enough, because
// job control gives each job a group of its own, nor is the session, because a daemon has its own. /proc, where there
// is one, lists all processes.
func killSession(leader int, dir string) {
	syscall.Kill(-leader, syscall.SIGKILL)
	eachOf(leader, dir, func(pid int) { syscall.Kill(pid, syscall.SIGKILL) })
}

// processesOf describes the processes that killSession would kill: state, parent, and what each waits for.
func processesOf(leader int, dir string) string {
	var b strings.Builder
	eachOf(leader, dir, func(pid int) {
		read := func(name string) string {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
			return strings.TrimSpace(string(text))
		}
		fmt.Fprintf(&b, "%d: %s", pid, strings.ReplaceAll(read("cmdline"), "\x00", " "))
		for _, line := range strings.Split(read("status"), "\n") {
			name, value, _ := strings.Cut(line, ":")
			if slices.Contains([]string{"State", "PPid", "TracerPid", "SigPnd", "ShdPnd"}, name) {
				fmt.Fprintf(&b, "; %s %s", name, strings.TrimSpace(value))
			}
		}
		fmt.Fprintf(&b, "; in %s %s\n", read("wchan"), read("syscall"))
	})
	return b.String()
}

func eachOf(leader int, dir string, do func(pid int)) {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		session, err := unix.Getsid(pid)
		cwd, _ := os.Readlink("/proc/" + entry.Name() + "/cwd")
		if err == nil && session == leader || cwd == dir {
			do(pid)
		}
	}
}
