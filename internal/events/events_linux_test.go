package events

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFileCloses asserts that the close of the last descriptor of an open file is an event, and that of another is not.
func TestFileCloses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	open := func() int {
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		must(err)
		return fd
	}
	own := open()
	defer unix.Close(own)
	var w Watcher
	defer w.Close()
	for range 2 {
		other := open()
		copied, err := unix.Dup(other)
		must(err)
		if _, err := w.CloseOf(own); err != nil {
			t.Fatal(err)
		}
		unix.Close(other)
		expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
		time.AfterFunc(20*time.Millisecond, func() { unix.Close(copied) })
		expect(t, &w, long, Check{}, Closed)
	}
}

// TestProcessStops stops the process that should run.
func TestProcessStops(t *testing.T) {
	pid, end := startSleeper(t)
	defer end()
	check := Check{Every: 20 * time.Millisecond, Running: pid}
	var w Watcher
	expect(t, &w, 100*time.Millisecond, check, Timeout)
	time.AfterFunc(100*time.Millisecond, func() { unix.Kill(pid, unix.SIGSTOP) })
	expect(t, &w, long, check, Seen)
	unix.Kill(pid, unix.SIGCONT)
}

func TestBell(t *testing.T) {
	var w Watcher
	defer w.Close()
	name := filepath.Join(t.TempDir(), "fifo")
	must(unix.Mkfifo(name, 0o600))
	bell, err := unix.Open(name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(err)
	defer unix.Close(bell)
	w.Bell(bell)
	expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
	unix.Write(bell, []byte("12"))
	expect(t, &w, long, Check{}, Changed)
	expect(t, &w, 20*time.Millisecond, Check{}, Timeout) // reported once
}

// TestSeveralEvents has several things happen before a wait: it tells the one that is most certain to matter.
func TestSeveralEvents(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) int {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		must(err)
		return fd
	}
	own := open("f")
	defer unix.Close(own)
	must(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	bell := open("fifo")
	defer unix.Close(bell)
	for _, rings := range []bool{false, true} {
		var w Watcher
		defer w.Close()
		pid, end := startSleeper(t)
		other := open("f")
		_, err := w.CloseOf(own)
		must(err)
		_, err = w.Processes([]int{pid})
		must(err)
		w.Bell(bell)
		unix.Close(other)
		end()
		must(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
		want := Ended
		if rings {
			unix.Write(bell, []byte("1"))
			want = Changed
		}
		expect(t, &w, long, Check{}, want)
		expect(t, &w, 20*time.Millisecond, Check{}, Timeout) // all of it was reported
	}
}

// waitQuietly is the process that TestFewWakeUps observes.
func waitQuietly() {
	runtime.LockOSThread()
	dir, err := os.Open(os.Getenv("EVENTS_DIR"))
	must(err)
	var w Watcher
	d := Directory{FD: int(dir.Fd()), Name: dir.Name()}
	_, err = w.Directory(d)
	must(err)
	_, err = w.Processes([]int{os.Getppid()})
	must(err)
	fmt.Println("ready")
	w.Wait(time.Hour, Check{Every: every, Directory: d, Names: []string{"a"}, Running: os.Getppid()})
}

const every = 50 * time.Millisecond // between the checks of the child of TestFewWakeUps

// TestFewWakeUps asserts that a check costs one wake-up and does not wake the monitor thread of the Go runtime.
func TestFewWakeUps(t *testing.T) {
	dir := t.TempDir()
	must(os.WriteFile(filepath.Join(dir, "a"), nil, 0o666))
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "EVENTS_ROLE=wait", "EVENTS_DIR="+dir)
	out, err := c.StdoutPipe()
	must(err)
	must(c.Start())
	out.Read(make([]byte, 10))
	defer c.Wait()
	defer c.Process.Kill()
	const checks = 10
	// The monitor thread goes to sleep some time after the wait begins, and on a busy machine checks come late: until then,
	// measure again.
	last := 0
	for range 60 {
		before := switches(c.Process.Pid)
		time.Sleep(checks * every)
		last = switches(c.Process.Pid) - before
		if last >= checks/2 && last <= 2*checks {
			return
		}
	}
	t.Errorf("%d wake-ups in the time of %d checks", last, checks)
}

// switches returns how often the threads of a process have waited.
func switches(pid int) (sum int) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		_, value, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:\t")
		n := 0
		fmt.Sscan(value, &n)
		sum += n
	}
	return sum
}

// TestLimits asserts that without free descriptors the methods return errors, and Wait still works.
func TestLimits(t *testing.T) {
	dir := openDir(t)
	pid, _ := startSleeper(t)
	var limit unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}))
	var w Watcher
	if added, err := w.Directory(dir); added || err != unix.EMFILE {
		t.Error(added, err)
	}
	if added, err := w.Processes([]int{pid}); added || err != unix.EMFILE {
		t.Error(added, err)
	}
	expect(t, &w, 50*time.Millisecond, Check{Every: 10 * time.Millisecond}, Timeout)
}

// With a limit of descriptors below the number of those that are watched poll(2) is an error. A Wait takes its time then.
func TestLimitLoweredWhileWaiting(t *testing.T) {
	var w Watcher
	defer w.Close()
	if _, err := w.Processes([]int{os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	start := time.Now()
	if event := w.Wait(50*time.Millisecond, Check{}); event != Timeout || time.Since(start) < 50*time.Millisecond {
		t.Errorf("event %d after %v", event, time.Since(start))
	}
}
