package openfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mainThread runs what a child of the tests does, on the first thread: init functions run there.
func init() {
	if os.Getenv("FLOCK_TEST_OPENFILE") == "first thread ends" {
		runtime.LockOSThread()
		started := make(chan bool)
		go func() {
			runtime.LockOSThread()
			started <- true
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		<-started
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

func TestMain(m *testing.M) {
	switch os.Getenv("FLOCK_TEST_OPENFILE") {
	case "mark":
		f, err := os.OpenFile(os.Args[1], os.O_RDWR, 0)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%c", max(Set(int(f.Fd())), '-'))
		f2, _ := os.OpenFile(os.Args[1], os.O_RDWR|unix.O_NONBLOCK, 0)
		fmt.Printf("%c\n", max(Set(int(f2.Fd())), '-'))
		os.Exit(0)
	case "see":
		var pid int
		fmt.Sscan(os.Args[1], &pid)
		numbers, visible := Search{Files: []string{IdentityOf(os.Args[2])}}.In(pid, true)
		fmt.Println(Search{Files: []string{IdentityOf(os.Args[2])}}.At(pid, 3), numbers, visible)
		os.Exit(0)
	case "spin":
		fmt.Println()
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		for {
		}
	}
	os.Exit(m.Run())
}

// open opens a file anew for a test.
func open(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// start starts a process that has the file as its descriptor 3, and ends with the test.
func start(t *testing.T, f *os.File, env, name string, args ...string) (pid int, in io.WriteCloser, out *bufio.Reader) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env)
	c.ExtraFiles = []*os.File{f}
	in, err := c.StdinPipe()
	pipe, err2 := c.StdoutPipe()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	return c.Process.Pid, in, bufio.NewReader(pipe)
}

func line(t *testing.T, r *bufio.Reader) string {
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

func TestMarkFollowsTheOpenFile(t *testing.T) {
	f := open(t)
	fd := int(f.Fd())
	_, identity := Stat(fd)
	mark := Set(fd)
	if mark == None || !Has(fd, mark) || identity != IdentityOf(f.Name()) {
		t.Fatalf("mark %c, has it %v", mark, Has(fd, mark))
	}
	pid, in, out := start(t, f, "", "sh", "-c", "read x; exec 3>&-; echo closed; read x")
	other, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	marked := Search{Files: []string{identity}, Mark: mark}
	check := func(when string, want State, wantSame bool) {
		t.Helper()
		same := compare(pid, 3, os.Getpid(), fd)
		ours := marked.CompareOurs(pid, 3, fd, true) == Equal
		c, _ := compareFlag(procDir(pid), 3, fd, unix.O_NONBLOCK)
		follows := c == Equal
		if got := marked.At(pid, 3); got != want || same != Unknown && (same == Equal) != wantSame || ours != wantSame || follows != wantSame {
			t.Errorf("%s: %v %v %v %v, want %v %v", when, got, same, ours, follows, want, wantSame)
		}
	}
	check("in a child", Found, true)
	if marked.CompareOurs(pid, 3, int(other.Fd()), true) != Different {
		t.Error("another open file of the same file counts as the same")
	}
	if marked.At(os.Getpid(), int(other.Fd())) != Absent {
		t.Error("the mark is seen at another open file")
	}
	fmt.Fprintln(in)
	line(t, out)
	check("closed", Absent, false)
	in.Close()
	syscall.Wait4(pid, nil, 0, nil)
	check("ended", Gone, false)
	Clear(fd, mark)
	if Has(fd, mark) || marked.At(os.Getpid(), fd) != Absent {
		t.Error("the mark stays")
	}
}

// TestFollowsBesideOthers asserts that an open file is known by its flags while another process asks the same, that it is
// not taken for another one, that it can be marked meanwhile, and that the flags are as before then.
func TestFollowsBesideOthers(t *testing.T) {
	for name, flag := range map[string]int{"O_NONBLOCK": unix.O_NONBLOCK, "O_NOATIME": unix.O_NOATIME, "O_APPEND": unix.O_APPEND} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			fd := int(f.Fd())
			before := flags(t, fd)
			var stop atomic.Bool
			done := make(chan bool)
			go func() {
				defer close(done)
				for !stop.Load() {
					compareFlag("/proc/self/", fd, fd, flag)
				}
			}()
			answers := map[string]int{}
			for range 300 {
				if !CanMark(fd) {
					t.Fatal("it cannot be marked meanwhile")
				}
				c, contested := compareFlag("/proc/self/", fd, fd, flag)
				answers[fmt.Sprint(c, contested)]++
			}
			stop.Store(true)
			<-done
			t.Log(answers)
			if answers[fmt.Sprint(Different, false)] > 3 { // by chance, once in half a million times
				t.Error("an open file was taken for another one")
			}
			setFlag(fd, flag, before&flag != 0)
			if after := flags(t, fd); after != before {
				t.Errorf("flags %o, before %o", after, before)
			}
		})
	}
}

// A file that is removed can leave its inode number to another, which is made a tick of the clock later at the earliest
// here.
func TestIdentityOfReusedInode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	type file struct {
		born     unix.StatxTimestamp
		identity string
	}
	seen := map[uint64]file{} // by inode number
	again := 0
	const rounds = 20
	tick := func() (now unix.Timespec) {
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	for range rounds {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		var s unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_BTIME, &s); err != nil || s.Mask&unix.STATX_BTIME == 0 {
			t.Skip("this filesystem does not tell when a file was made: ", err)
		}
		f := file{s.Btime, IdentityOf(name)}
		if old, used := seen[s.Ino]; used && old.born != f.born {
			if again++; old.identity == f.identity {
				t.Fatal("two files have the identity ", f.identity)
			}
		}
		seen[s.Ino] = f
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		last := tick()
		await(t, func() bool { return tick() != last })
	}
	if again == 0 {
		t.Skip("this filesystem does not use inode numbers again")
	}
}

func flags(t *testing.T, fd int) int {
	flags, err := flagsOf(fd)
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

// A shell that does nothing but move a descriptor between two numbers, with others in between, is never missed.
func TestShellThatMovesDescriptors(t *testing.T) {
	f := open(t)
	_, identity := Stat(int(f.Fd()))
	fd, other := int(f.Fd()), int(open(t).Fd())
	mark := Set(fd)
	pid, _, out := start(t, f, "", "sh", "-c", `exec 9<&3 3<. 4<. 5<. 6<. 7<. 8<.; echo; f() { :; }
		while :; do f 9<&-; f 9<&-; f 9<&-; f 9<&-; done`)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	line(t, out)
	for _, s := range []Search{{Files: []string{identity}}, {Files: []string{identity}, Mark: mark},
		{Files: []string{identity}, Ours: &fd}} {
		missed := 0
		for range 500 {
			if numbers, visible := s.In(pid, true); len(numbers) == 0 || !visible {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%d of 500 looks missed the open file (mark %q, ours: %v)", missed, mark, s.Ours != nil)
		}
	}
	if compare(pid, 0, pid, 0) == Unknown {
		t.Skip("without kcmp(2) all open files of the file are found")
	}
	for range 500 {
		if numbers, _ := (Search{Files: []string{identity}, Ours: &other}).In(pid, false); len(numbers) != 0 {
			t.Fatal("another open file was found for ours")
		}
	}
}

// TestNumbersThatTakeTurns compares two numbers between which a shell moves an open file: they are one open file, although
// seldom both are there.
func TestNumbersThatTakeTurns(t *testing.T) {
	f := open(t)
	fd := int(f.Fd())
	_, identity := Stat(fd)
	s := Search{Files: []string{identity}, Mark: Set(fd)}
	pid, _, out := start(t, f, "", "sh", "-c", "exec 9<&3 3<&-; echo; f() { for i in 1 2 3 4 5; do x=$i; done; }; while :; do f 9<&-; done")
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	line(t, out)
	if _, err := s.copyOf(pid, 9); err == unix.EPERM || err == unix.ENOSYS {
		t.Skip("descriptors of other processes cannot be copied here: ", err)
	}
	var numbers []int
	await(t, func() bool {
		found, _ := s.In(pid, true)
		numbers = slices.Compact(slices.Sorted(slices.Values(append(numbers, found...))))
		return len(numbers) == 2
	})
	equal := 0
	for range 50 {
		switch s.Compare(pid, numbers[0], pid, numbers[1], true) {
		case Equal:
			equal++
		case Different:
			t.Fatal("taken for two open files")
		}
	}
	if equal < 25 {
		t.Errorf("known to be one open file in %d of 50 comparisons", equal)
	}
}

// TestActivity lets a process run for a moment, and another thread of one whose first thread sleeps.
func TestRuns(t *testing.T) {
	for _, words := range [][]string{
		{"sh", "-c", "echo; read x; echo; read x"},
		{"python3", "-uc", `
import sys, threading
def echo():
	for line in sys.stdin: print()
print()
thread = threading.Thread(target=echo)
thread.start()
thread.join()`},
	} {
		t.Run(words[0], func(t *testing.T) {
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip(err)
			}
			pid, in, out := start(t, open(t), "", words[0], words[1:]...)
			line(t, out)
			still := map[int]string{}
			for end := time.Now().Add(time.Minute); len(still) == 0; {
				if time.Now().After(end) {
					t.Fatal("it is always said to have run")
				}
				still[pid] = Activity(pid)
				KeepStill(still)
			}
			io.WriteString(in, "\n")
			line(t, out)
			if KeepStill(still); len(still) != 0 {
				t.Error("a process that has read and written is not said to have run")
			}
		})
	}
}

// Nothing is looked at again because a process of this program runs: contenders that one script starts would look into each
// other for milliseconds.
func TestThisProgramMovesNoDescriptors(t *testing.T) {
	f := open(t)
	spins, _, out := start(t, f, "FLOCK_TEST_OPENFILE=spin", os.Args[0])
	line(t, out)
	shell, _, out := start(t, f, "", "sh", "-c", "echo; while :; do :; done")
	t.Cleanup(func() { syscall.Kill(shell, syscall.SIGKILL) })
	line(t, out)
	if hasRun(spins, Activity(spins)) {
		t.Error("another process of this program is said to have run")
	}
	if !hasRun(shell, Activity(shell)) {
		t.Error("a shell is said not to have run")
	}
}

// TestSteadily has descriptors that move, one way or another, while they are compared.
func TestSteadily(t *testing.T) {
	always, never := func(int) bool { return true }, func(int) bool { return false }
	odd := func(n int) bool { return n%2 == 1 }
	slowly := func(int) bool { time.Sleep(20 * time.Millisecond); return true }
	for name, c := range map[string]struct {
		isEqual, isThere func(n int) bool
		want             Comparison
	}{
		"equal":                       {always, always, Equal},
		"equal, on a slow machine":    {slowly, slowly, Equal},
		"different":                   {never, always, Different},
		"different at first":          {func(n int) bool { return n > 3 }, always, Equal},
		"equal at first":              {func(n int) bool { return n < 3 }, always, Different},
		"now and then equal":          {odd, always, Unsure},
		"different, and not there":    {never, never, Unsure},
		"equal, and not always there": {always, odd, Unsure},
	} {
		n := 0
		got := steadily(func() Comparison {
			if n++; c.isEqual(n) {
				return Equal
			}
			return Different
		}, oftenEnough, func() bool { return c.isThere(n) })
		if got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	for want, most := range map[Comparison]int{Unknown: 1, Unsure: 10} {
		looks := 0
		if got := steadily(func() Comparison { looks++; return want }, oftenEnough, func() bool { return false }); got != want || looks > most {
			t.Errorf("always %v: %v after %d looks", want, got, looks)
		}
	}
}

func TestFirstThreadHasEnded(t *testing.T) {
	f := open(t)
	_, identity := Stat(int(f.Fd()))
	pid, _, _ := start(t, f, "FLOCK_TEST_OPENFILE=first thread ends", os.Args[0])
	await(t, func() bool {
		text, _ := os.ReadFile(procDir(pid) + "stat")
		return strings.Contains(string(text), ") Z ")
	})
	s := Search{Files: []string{identity}}
	numbers, visible := s.In(pid, true)
	if os.Getuid() != 0 { // its files in /proc are root's
		if state := s.At(pid, 3); state != Hidden || visible {
			t.Error(state, numbers, visible)
		}
		return
	}
	same := compare(pid, 3, os.Getpid(), int(f.Fd()))
	if back := compare(os.Getpid(), int(f.Fd()), pid, 3); back != same {
		t.Error(back, same)
	}
	if state := s.At(pid, 3); state != Found || !slices.Equal(numbers, []int{3}) || !visible || same != Equal && same != Unknown {
		t.Error(state, numbers, visible, same)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for range 1_000_000 {
		if done() {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("it does not come")
}

// asNobody returns the command that runs this test binary as another user, with another value of FLOCK_TEST_OPENFILE.
func asNobody(t *testing.T, what string) []string {
	if os.Getuid() != 0 {
		t.Skip("needs another user: run it as root")
	}
	dir, err := os.MkdirTemp("/tmp", "openfile") // the way to t.TempDir is not for other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "self")
	text, err := os.ReadFile(os.Args[0])
	if err != nil || os.WriteFile(self, text, 0o755) != nil || os.Chmod(dir, 0o755) != nil {
		t.Fatal("cannot copy the test")
	}
	return []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "FLOCK_TEST_OPENFILE=" + what, self}
}

// A file of somebody else cannot get O_NOATIME; and O_NONBLOCK that was there before is no mark.
func TestMarksOfForeignFile(t *testing.T) {
	args := asNobody(t, "mark")
	f := filepath.Join(filepath.Dir(args[len(args)-1]), "f")
	if os.WriteFile(f, nil, 0o666) != nil || os.Chmod(f, 0o666) != nil {
		t.Fatal("cannot make the file")
	}
	out, err := exec.Command(args[0], append(args[1:], f)...).CombinedOutput()
	if string(out) != "n-\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestProcessOfAnotherUserIsHidden(t *testing.T) {
	args := asNobody(t, "see")
	f := open(t)
	pid, _, _ := start(t, f, "", "cat")
	want := fmt.Sprintln(Hidden, []int{}, false)
	for _, option := range []string{"hidepid=0", "hidepid=2"} {
		script := `mount -t proc -o ` + option + ` proc /proc && exec "$@"`
		c := exec.Command("unshare", append([]string{"-m", "sh", "-c", script, "sh"}, append(args, fmt.Sprint(pid), f.Name())...)...)
		out, err := c.CombinedOutput()
		if err != nil && (strings.Contains(string(out), "mount:") || strings.Contains(string(out), "unshare:")) {
			t.Skip("cannot mount /proc here: ", string(out))
		}
		if string(out) != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", option, out, err, want)
		}
	}
}
