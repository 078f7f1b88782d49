//go:build unix

package compat_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pairedOptions are all options, with valid values. None of them makes a run wait that has the lock for itself.
var pairedOptions = strings.Split("--shared --exclusive --unlock --nonblocking --timeout=9 --wait=0 "+
	"--conflict-exit-code=7 --close --no-fork --fcntl --start=0 --length=1 --verbose "+
	"--permits=2 --cooldown=.01 --cooldown-from=start --cooldown-from=end --cooldown-from=success --queue=1 --queue=0 "+
	"--replace --report=0 --remove --limit=60 --kill-children --holders "+
	"--backend=auto --backend=native --backend=flock --backend=fcntl --backend=directory --help --version", " ")

// A pairedForm is what a command line has besides the options. The lock file is number 3, too.
type pairedForm struct {
	options []string
	lock    func(file string) []string
	command []string
}

var (
	atFile   = func(file string) []string { return []string{file} }
	afterFd  = func(string) []string { return []string{"--fd", "3"} }
	printing = []string{"printenv", "FLOCK_PERMIT"}

	pairedForms = []pairedForm{
		{nil, atFile, printing},
		{nil, func(string) []string { return []string{"3"} }, nil},
		{nil, afterFd, printing},
		{[]string{"--unlock"}, atFile, printing},
		{[]string{"--unlock"}, afterFd, printing},
	}
)

// pairedVariables are those of the two ways to lock. FLOCK_PERMIT is that of a lock around the run.
var pairedVariables = [][]string{
	{"FLOCK_PERMIT=5"},
	{"FLOCK_PERMIT=5", "FLOCK_BACKEND=directory"},
}

// statusesOfTheManual are those of flock itself. 0 and 1 are also those of the command, printenv(1).
var statusesOfTheManual = []int{0, 1, 7, 64, 65, 66, 69, 71, 73}

// TestPairsOfOptions runs flock with each two options in each form, natively and by the directory lock. None of these
// runs crashes, says something of the runtime, or ends with a status that the manual does not have, and FLOCK_PERMIT is
// only set with a permit. All are 5,610 runs, and 20 seconds of processor time: make long takes them. make test takes
// each option alone, and each seventh run of two, always the same.
func TestPairsOfOptions(t *testing.T) {
	needOurs(t)
	skipInCheck(t)
	t.Parallel()
	every := 7
	if isLong {
		every = 1
	}
	w, n := startPairs(t), 0
	for _, variables := range pairedVariables {
		for _, form := range pairedForms {
			for i, first := range pairedOptions {
				for j, second := range pairedOptions[i:] {
					n++
					if n%every == 0 || j == 0 { // then it is one option
						w.run(pairedRun{form, []string{first, second}, variables, [3]bool{true, true, true}})
					}
				}
			}
		}
	}
	w.wait()
}

// TestOptionsWithClosedFiles runs flock with each option in the eight ways to have standard input, output and error, or
// not to have them.
func TestOptionsWithClosedFiles(t *testing.T) {
	needOurs(t)
	skipInCheck(t)
	t.Parallel()
	w := startPairs(t)
	form := pairedForm{nil, atFile, []string{"true"}}
	for _, variables := range pairedVariables {
		for _, option := range pairedOptions {
			for way := range 8 {
				open := [3]bool{way&1 == 0, way&2 == 0, way&4 == 0}
				w.run(pairedRun{form, []string{option}, variables, open})
			}
		}
	}
	w.wait()
}

type pairedRun struct {
	form      pairedForm
	options   []string
	variables []string
	isOpen    [3]bool // standard input, output and error
}

// pairs runs command lines, some at a time.
type pairs struct {
	queue chan pairedRun
	ended sync.WaitGroup
}

func startPairs(t *testing.T) *pairs {
	w, dir := &pairs{queue: make(chan pairedRun)}, t.TempDir()
	for worker := range 4 {
		w.ended.Go(func() {
			n := 0
			for r := range w.queue {
				n++
				r.check(t, filepath.Join(dir, fmt.Sprintf("%d-%d", worker, n)))
			}
		})
	}
	return w
}

func (w *pairs) run(r pairedRun) { w.queue <- r }

func (w *pairs) wait() {
	close(w.queue)
	w.ended.Wait()
}

// ofRuntime matches what the Go runtime writes when it ends a program.
var ofRuntime = regexp.MustCompile(`(?m)^(goroutine |panic:|fatal error:|runtime:|runtime/|SIG)`)

// check runs flock on a new file and checks what comes of it.
func (r pairedRun) check(t *testing.T, file string) {
	lock, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Error(err)
		return
	}
	defer lock.Close()
	words := slices.Concat([]string{"flock"}, r.options, r.form.options, r.form.lock(file), r.form.command)
	status, output, errors := r.start(t, words, lock)
	what := strings.Join(append(slices.Clone(r.variables), words...), " ")
	if r.isOpen != [3]bool{true, true, true} {
		what += fmt.Sprintf(", open %v", r.isOpen)
	}
	if !slices.Contains(statusesOfTheManual, status) || ofRuntime.MatchString(errors) {
		t.Errorf("%s: status %d\n%s%s", what, status, output, errors)
	}
	if text, err := os.ReadFile(file); len(text) > 0 { // it may have been removed
		t.Errorf("%s: status %d; in the lock file: %q, %v", what, status, text, err)
	}
	r.checkPermit(t, what, output)
}

// checkPermit checks the number that the command has printed, if it has run.
func (r pairedRun) checkPermit(t *testing.T, what, output string) {
	number, given := "5\n", slices.Concat(r.options, r.form.options)
	if slices.Contains(given, "--permits=2") && !slices.Contains(given, "--unlock") {
		number = "1\n"
	}
	if isNumber.MatchString(output) && output != number {
		t.Errorf("%s: FLOCK_PERMIT=%s", what, output)
	}
}

var isNumber = regexp.MustCompile(`^-?[0-9]+\n$`)

// start runs flock and returns its status, or -1 if a signal has ended it, and what it wrote.
func (r pairedRun) start(t *testing.T, words []string, lock *os.File) (status int, output, errors string) {
	var text [3]bytes.Buffer
	files := []*os.File{nil, nil, nil, lock}
	var readers sync.WaitGroup
	for fd := range r.isOpen {
		if !r.isOpen[fd] {
			continue
		}
		in, out, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		if fd == 0 {
			files[fd] = in
			out.Close()
			continue
		}
		files[fd] = out
		readers.Go(func() { text[fd].ReadFrom(in) })
	}
	process, err := os.StartProcess(oursPath, words, &os.ProcAttr{
		Env:   append(slices.DeleteFunc(os.Environ(), isOfFlock), r.variables...),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	for fd := 1; fd < 3; fd++ {
		if files[fd] != nil {
			files[fd].Close()
		}
	}
	if err != nil {
		t.Error(err)
		return
	}
	timer := time.AfterFunc(time.Minute, func() { syscall.Kill(-process.Pid, syscall.SIGKILL) })
	state, err := process.Wait()
	timer.Stop()
	readers.Wait()
	if err != nil {
		t.Error(err)
	}
	return state.ExitCode(), text[1].String(), text[2].String()
}

func isOfFlock(variable string) bool { return strings.HasPrefix(variable, "FLOCK_") }

// TestPairsHaveAllOptions asserts that no option is missing in pairedOptions, which the forms and -c have besides.
func TestPairsHaveAllOptions(t *testing.T) {
	needOurs(t)
	help, err := exec.Command(oursPath, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	options := regexp.MustCompile(`(?m)^ .{4}(--[a-z-]+)`).FindAllStringSubmatch(string(help), -1)
	if len(options) < 25 {
		t.Errorf("%d options in %s", len(options), help)
	}
	for _, option := range options {
		isPaired := func(o string) bool { return o == option[1] || strings.HasPrefix(o, option[1]+"=") }
		if !slices.ContainsFunc(pairedOptions, isPaired) && option[1] != "--fd" && option[1] != "--command" {
			t.Errorf("%s is not among the options", option[1])
		}
	}
}
