//go:build unix

package compat_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	record = flag.String("record", "", "`which` answers to record instead of testing, new or all (see recordAnswers)")
	names  = flag.Bool("names", false, "name the cases that were not run, and the intended differences")

	workDir string
	cases   []compatCase

	compared string // what the recorded answers were compared with; "": nobody was to say
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The scripts mostly wait, so more of them can run than there are cores.
	flag.Set("test.parallel", "10")
	// If the caller ignores a signal, every case would inherit that. A signal that is caught here is not inherited.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	// Some cases list their descriptors, so they must not inherit any from the caller.
	for fd := 3; fd < 1024; fd++ {
		syscall.CloseOnExec(fd)
	}
	syscall.Umask(0o022)
	status, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compat_test:", err)
		status = 1
	}
	os.Exit(status)
}

func runAll(m *testing.M) (status int, err error) {
	if cases, err = readCases("cases"); err != nil {
		return 1, err
	}
	for i := range cases {
		if err := cases[i].cutAnswers(); err != nil {
			return 1, fmt.Errorf("cases/%s.sh: %s: %w", cases[i].file, cases[i].name, err)
		}
	}
	top, err := imitateElsewhere()
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(top)
	if err := findPrograms(workDir); err != nil {
		return 1, err
	}
	if *record != "" {
		return 0, recordAnswers(*record)
	}
	status = m.Run()
	printTable()
	if err := sayCompared(); err != nil {
		return 1, err
	}
	if left := leftovers(top); left != "" {
		return 1, errors.New("left running by a test:\n" + left)
	}
	return status, nil
}

// leftovers returns the processes that the tests have left, on systems with a /proc that tells: top is in their PATH,
// their command line or their working directory.
func leftovers(top string) (list string) {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) { // some are just ending
		list = ""
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			line, _ := os.ReadFile(filepath.Dir(path) + "/cmdline")
			dir, _ := os.Readlink(filepath.Dir(path) + "/cwd")
			pid := filepath.Base(filepath.Dir(path))
			if strings.Contains(string(text)+string(line)+dir, top) && pid != strconv.Itoa(os.Getpid()) {
				list += fmt.Sprintf("%s: %q\n", pid, line)
			}
		}
		if list == "" || time.Now().After(end) {
			return list
		}
	}
}

// A tally counts the results of one mode: one line of the table.
type tally struct {
	mode             string
	equal, different int
	intended         []string
	alike            []string            // on another kernel: util-linux's answer there, which is not the recorded one
	skipped, kernel  map[string][]string // by reason
	mu               sync.Mutex
}

var tallies []*tally

func newTally(mode string) *tally {
	t := &tally{mode: mode, skipped: map[string][]string{}, kernel: map[string][]string{}}
	tallies = append(tallies, t)
	return t
}

func (t *tally) add(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func count(byReason map[string][]string) (n int) {
	for _, names := range byReason {
		n += len(names)
	}
	return n
}

// printTable prints for each mode the number of cases by result; with -names also which cases did not run and why, and
// the intended differences. Every other difference is in the message of the test that found it.
func printTable() {
	if len(tallies) == 0 {
		return
	}
	fmt.Printf("%-20s %6s %6s %10s %9s %8s %8s\n",
		"mode", "cases", "equal", "different", "intended", "kernel", "skipped")
	for _, t := range tallies {
		kernel, skipped := count(t.kernel), count(t.skipped)
		fmt.Printf("%-20s %6d %6d %10d %9d %8d %8d\n", t.mode,
			t.equal+len(t.alike)+t.different+len(t.intended)+kernel+skipped,
			t.equal+len(t.alike), t.different, len(t.intended), kernel, skipped)
	}
	if !*names {
		return
	}
	for _, t := range tallies {
		if len(t.alike) > 0 {
			printReasons(t.mode, map[string][]string{"equal to the reference on " + otherKernel + " only": t.alike})
		}
		printReasons(t.mode+": not run without kernel locks", t.kernel)
		printReasons(t.mode+": skipped", t.skipped)
	}
	var shown = map[string]bool{}
	for _, t := range tallies {
		for _, c := range cases {
			if slices.Contains(t.intended, c.name) && !shown[c.name] {
				shown[c.name] = true
				fmt.Printf("\nintended difference: %s: %s\n", c.name, c.differs)
			}
		}
	}
}

// sayCompared prints what the recorded answers were compared with. What packages print that pass go test does not show,
// so run.sh prints the line, too.
func sayCompared() error {
	if compared == "" {
		return nil
	}
	fmt.Println(compared)
	if place := os.Getenv("FLOCK_TEST_SAID"); place != "" {
		return os.WriteFile(place, []byte(compared+"\n"), 0o666)
	}
	return nil
}

func printReasons(what string, byReason map[string][]string) {
	var reasons []string
	for reason := range byReason {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		names := byReason[reason]
		slices.Sort(names)
		fmt.Printf("\n%s: %s: %s\n", what, reason, strings.Join(names, " "))
	}
}
