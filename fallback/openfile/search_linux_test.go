package openfile

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// TestLastOfAnother has a file over /proc/loadavg, as lxcfs puts one there, which does not tell of this pid namespace.
func TestLastOfAnother(t *testing.T) {
	if os.Getenv("FLOCK_TEST_LOADAVG") != "" {
		if pid := lastID(); pid != 0 {
			t.Errorf("%d", pid)
		}
		return
	}
	var of unix.Statfs_t
	if err := unix.Statfs("/proc/loadavg", &of); err != nil || of.Type != unix.PROC_SUPER_MAGIC {
		t.Skip("nothing tells the last id here")
	}
	if pid := startEnded(t); lastID() < pid {
		t.Errorf("%d was the last, after %d", lastID(), pid)
	}
	file := filepath.Join(t.TempDir(), "loadavg")
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		err = os.WriteFile(file, text, 0o444)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespace can be made: %s", out)
	}
	c := exec.Command("unshare", "-rm", "sh", "-c",
		`mount --bind "$0" /proc/loadavg && exec "$1" -test.run='^TestLastOfAnother$'`, file, os.Args[0])
	c.Env = append(os.Environ(), "FLOCK_TEST_LOADAVG=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSearchGivesUp: where in each listing somebody has ended before a search comes to them, it ends, and proves
// nothing: after a while, or, once it has looked at each process, when it is told to.
func TestSearchGivesUp(t *testing.T) {
	longest, id, listings := longestCatchUp, 1<<22, 0 // no process has such an id
	defer func() { processes, longestCatchUp = proc.Processes, longest }()
	longestCatchUp = time.Second
	processes = func() ([]int, error) {
		listings++
		time.Sleep(20 * time.Millisecond)
		id++
		pids, err := proc.Processes()
		return append(pids, id), err
	}
	file := filepath.Join(t.TempDir(), "f")
	must(os.WriteFile(file, nil, 0o666))
	s := &Table{Path: file, Opened: -1, FD: -1}
	start := time.Now()
	if s.Search(Query{Since: math.MaxUint64}).Complete { // one look into each of those that there are
		t.Error("a search ended although there was always a new process")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}

	longestCatchUp = time.Hour
	for _, enough := range []int{0, 3} {
		listings = 0
		shallStop := func() bool { return listings >= enough }
		if s.Search(Query{Since: math.MaxUint64, ShallStop: shallStop}).Complete || listings != max(1, enough) {
			t.Errorf("told to give up after %d listings it ended after %d, or was complete", enough, listings)
		}
	}
}

// TestSearchBesideNewProcesses: a search ends although there is a new process in each listing, if those were started by
// some that it had cleared, or that may not be looked into.
func TestSearchBesideNewProcesses(t *testing.T) {
	for _, role := range []string{"start", "start protected"} {
		t.Run(role, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "f")
			must(os.WriteFile(file, nil, 0o666))
			starter := exec.Command("/proc/self/exe")
			starter.Env = append(os.Environ(), "FALLBACK_ROLE="+role)
			in, err := starter.StdinPipe()
			must(err)
			out, err := starter.StdoutPipe()
			must(err)
			must(starter.Start())
			defer starter.Wait()
			defer in.Close()
			answer := make([]byte, 1)
			_, err = out.Read(answer)
			must(err)
			if h := newSearch(Query{}); !h.mayMove(h.newCandidate(starter.Process.Pid)) {
				t.Error("a process of the same program can have moved it")
			}

			longest := longestCatchUp
			defer func() { processes, longestCatchUp = proc.Processes, longest }()
			longestCatchUp = time.Second // a busy machine may take longer for so many listings
			first, err := proc.Processes()
			must(err)
			isOthers := func(pid int) bool { // those prove nothing if their parent has ended
				of, _ := proc.ReadStat(pid)
				return of.Parent != starter.Process.Pid && !slices.Contains(first, pid)
			}
			listings := 0
			processes = func() ([]int, error) {
				if listings++; listings == 3 {
					time.Sleep(longestCatchUp + time.Millisecond)
				}
				for now := nextTick(); nextTick() == now; { // in one tick, the start may be before the look
					time.Sleep(time.Millisecond)
				}
				in.Write(answer)
				out.Read(answer)
				pids, err := proc.Processes()
				return slices.DeleteFunc(pids, isOthers), err
			}
			s := &Table{Path: file, Opened: -1, FD: -1}
			complete := false
			for range 3 { // a process of others that ends at the wrong moment may make one search give up
				if listings = 0; !complete {
					complete = s.Search(Query{Since: math.MaxUint64}).Complete
				}
			}
			if !complete {
				t.Error("each search gave up beside new processes")
			}
		})
	}
}

// TestMain has the test binary be the starter, too.
func TestMain(m *testing.M) {
	switch os.Getenv("FALLBACK_ROLE") {
	case "start protected":
		must(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
		start()
	case "start":
		start()
	case "first thread ends":
		endFirstThread()
	case "threads":
		echoInThread()
	default:
		os.Exit(m.Run())
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// start starts a process for each byte that it reads, and tells when it has done so. They end when it does.
func start() {
	fmt.Print(".")
	for b := make([]byte, 1); ; {
		if n, _ := os.Stdin.Read(b); n == 0 {
			return
		}
		c := exec.Command("cat")
		_, err := c.StdinPipe()
		must(err)
		must(c.Start())
		fmt.Print(".")
	}
}

// TestHeirOfCleared has a shell start two processes that never sleep, one before a search has looked into it and
// one afterwards. The first may move what it has inherited, so one look does not do. The second has inherited nothing.
func TestHeirOfCleared(t *testing.T) {
	c := exec.Command("sh", "-c", "while read line; do (while :; do :; done) & echo $!; done")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.StdinPipe()
	must(err)
	out, err := c.StdoutPipe()
	must(err)
	must(c.Start())
	defer c.Wait()
	defer syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	child := func() (pid int) {
		fmt.Fprintln(in)
		_, err := fmt.Fscan(out, &pid)
		must(err)
		return pid
	}
	h := newSearch(Query{})
	before := child()
	if h.lookInto(h.newCandidate(c.Process.Pid)) {
		t.Error("the shell has the file")
	}
	for nextTick() <= h.clearedSince[c.Process.Pid] {
		time.Sleep(time.Millisecond)
	}
	if after := child(); h.mayMove(h.newCandidate(after)) {
		t.Error("an heir of a cleared process may have it")
	}
	if !h.mayMove(h.newCandidate(before)) {
		t.Error("what was started before the look cannot have it")
	}
	delete(h.clearedSince, c.Process.Pid)
	if after := child(); !h.mayMove(h.newCandidate(after)) {
		t.Error("a child of one that was not looked into cannot have it")
	}
}
