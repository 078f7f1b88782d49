package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"example.org/flock/internal/command"
	"example.org/flock/internal/failure"
)

// This test program is also flock itself, as a copy of that name, and the commands that flock runs.
func TestMain(m *testing.M) {
	switch {
	case command.BaseName(os.Args[0]) == "flock":
		main()
	case len(os.Args) > 2 && os.Args[1] == "helper":
		os.Exit(helper(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func helper(what string, args []string) int {
	switch what {
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "print": // its arguments
		for _, arg := range args {
			fmt.Println(strconv.Quote(arg))
		}
	case "copy":
		io.Copy(os.Stdout, os.Stdin)
	case "hold": // until the second file is there; the first says that it runs
		os.WriteFile(args[0]+".new", []byte(strconv.Itoa(os.Getpid())), 0o666)
		os.Rename(args[0]+".new", args[0])
		for !exists(args[1]) {
			time.Sleep(5 * time.Millisecond)
		}
	case "section": // that nobody else may be in
		if err := os.Mkdir(args[0], 0o777); err != nil {
			fmt.Println("not alone:", err)
			return 99
		}
		time.Sleep(time.Millisecond)
		os.Remove(args[0])
	case "interrupt": // exits with 42 on being interrupted
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		os.WriteFile(args[0], nil, 0o666)
		select {
		case <-c:
			time.Sleep(200 * time.Millisecond)
			return 42
		case <-time.After(10 * time.Second):
		}
	}
	return 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A room is a directory with a flock.exe to try.
type room struct {
	*testing.T
	dir, flock, self string
}

func newRoom(t *testing.T) *room {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t, tempDir(t), "", self}
	r.flock = filepath.Join(tempDir(t), "flock.exe")
	from := self
	if given := os.Getenv("FLOCK_UNDER_TEST"); given != "" {
		from = given
	}
	program, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(r.flock, program, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tempDir is t.TempDir, but for Wine 8, which lacks what that removes files with.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "flock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var paths []string
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			paths = append(paths, path)
			return nil
		})
		for _, path := range slices.Backward(paths) {
			os.Remove(path)
		}
	})
	return dir
}

// command is flock with args, of which "@" stands for this program's helper.
func (r *room) command(args ...string) *exec.Cmd {
	var full []string
	for _, arg := range args {
		if arg == "@" {
			full = append(full, r.self, "helper")
			continue
		}
		full = append(full, arg)
	}
	cmd := exec.Command(r.flock, full...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("SystemRoot")+`\system32`)
	return cmd
}

// try runs flock, and returns what it says and its exit status.
func (r *room) try(args ...string) (output string, status int) {
	r.Helper()
	out, err := r.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), status
}

func (r *room) expect(want int, args ...string) (output string) {
	r.Helper()
	output, status := r.try(args...)
	if status != want {
		r.Errorf("flock %q: exit status %d, want %d; it says: %s", args, status, want, output)
	}
	return output
}

func (r *room) path(name string) string { return filepath.Join(r.dir, name) }

func (r *room) await(what string, condition func() bool) {
	r.Helper()
	for deadline := time.Now().Add(60 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatal("waited in vain: ", what)
		}
	}
}

// hold starts flock around a command that ends when release is called.
func (r *room) hold(options ...string) (flock *exec.Cmd, pid int, release func()) {
	r.Helper()
	name := fmt.Sprintf("held%d", time.Now().UnixNano())
	mark, leave := r.path(name), r.path(name+".go")
	flock = r.command(append(options, "lock", "@", "hold", mark, leave)...)
	flock.Stderr = os.Stderr
	if err := flock.Start(); err != nil {
		r.Fatal(err)
	}
	release = func() { os.WriteFile(leave, nil, 0o666) }
	r.Cleanup(func() { release(); flock.Process.Kill(); flock.Wait() })
	r.await("a holder", func() bool {
		text, _ := os.ReadFile(mark)
		pid, _ = strconv.Atoi(string(text))
		return pid != 0
	})
	return flock, pid, release
}

func kill(t *testing.T, pid int) {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(pid))
	if err == nil {
		err = windows.TerminateProcess(h, 7)
		windows.CloseHandle(h)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// children returns the processes that process pid has started.
func children(t *testing.T, pid int) (pids []int) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if int(entry.ParentProcessID) == pid {
			pids = append(pids, int(entry.ProcessID))
		}
	}
	return pids
}

func TestExitStatus(t *testing.T) {
	r := newRoom(t)
	for _, n := range []int{0, 3, 255} {
		r.expect(n, "lock", "@", "exit", strconv.Itoa(n))
		r.expect(n, "--close", "lock", "@", "exit", strconv.Itoa(n))
		r.expect(n, "--no-fork", "lock", "@", "exit", strconv.Itoa(n))
	}
	r.expect(5, "lock", "-c", "exit 5")
	out := r.expect(failure.ExUnavailable, "lock", "no such command")
	if !strings.HasPrefix(out, "flock: failed to execute no such command: ") {
		r.Errorf("no such command: %s", out)
	}
	out = r.expect(failure.ExNoInput, "no such directory/lock", "@", "exit", "0")
	if !strings.HasPrefix(out, "flock: cannot open lock file no such directory/lock: ") {
		r.Errorf("no such directory: %s", out)
	}
	r.expect(0, ".", "@", "exit", "0") // a directory
	r.expect(0, "-u", "lock", "@", "exit", "0")
}

func TestRefusals(t *testing.T) {
	r := newRoom(t)
	for _, args := range [][]string{
		{"3"}, {"-u", "3"}, {"--fd", "3", "@", "exit", "0"},
		{"--fcntl", "lock", "@", "exit", "0"}, {"--start", "0", "lock", "@", "exit", "0"},
		{"--length", "1", "lock", "@", "exit", "0"},
		{"--backend", "native", "lock", "@", "exit", "0"}, {"--backend", "flock", "lock", "@", "exit", "0"},
		{"--backend", "fcntl", "lock", "@", "exit", "0"},
	} {
		if out := r.expect(failure.ExUsage, args...); !strings.Contains(out, "this system") {
			r.Errorf("%q: %s", args, out)
		}
	}
	r.expect(0, "--backend", "directory", "lock", "@", "exit", "0")
}

func TestConflict(t *testing.T) {
	r := newRoom(t)
	flock, _, release := r.hold()
	r.expect(1, "-n", "lock", "@", "exit", "0")
	r.expect(9, "-n", "-E", "9", "lock", "@", "exit", "0")
	r.expect(1, "-n", "--shared", "lock", "@", "exit", "0")
	r.expect(1, "-n", "lock", "no such command")
	out := r.expect(1, "-n", "--verbose", "lock", "@", "exit", "0")
	if !strings.Contains(out, "flock: held by process "+strconv.Itoa(flock.Process.Pid)+" or one that it has started\n") ||
		!strings.Contains(out, "flock: failed to get lock\n") {
		r.Errorf("verbose: %s", out)
	}
	started := time.Now()
	r.expect(1, "-w", "0.4", "lock", "@", "exit", "0")
	if waited := time.Since(started); waited < 400*time.Millisecond {
		r.Errorf("-w 0.4 waited %v", waited)
	}
	release()
	out = r.expect(4, "--verbose", "-w", "60", "lock", "@", "exit", "4")
	if !strings.Contains(out, "flock: getting lock took ") || !strings.Contains(out, "flock: executing ") {
		r.Errorf("verbose: %s", out)
	}
}

func TestShared(t *testing.T) {
	r := newRoom(t)
	_, _, release := r.hold("--shared")
	r.expect(0, "-n", "-s", "lock", "@", "exit", "0")
	r.expect(1, "-n", "lock", "@", "exit", "0")
	release()
	r.expect(0, "-w", "60", "lock", "@", "exit", "0")
}

func TestCommandKilled(t *testing.T) {
	r := newRoom(t)
	flock, pid, _ := r.hold()
	kill(t, pid)
	flock.Wait()
	if status := flock.ProcessState.ExitCode(); status != 7 {
		r.Errorf("exit status %d, want that of the command, 7", status)
	}
	r.expect(0, "-n", "lock", "@", "exit", "0")
}

// The lock belongs to the command: to kill flock alone lets nobody in.
func TestFlockKilled(t *testing.T) {
	r := newRoom(t)
	flock, pid, release := r.hold()
	flock.Process.Kill()
	flock.Wait()
	r.expect(1, "-n", "lock", "@", "exit", "0")
	release()
	r.expect(0, "-w", "60", "lock", "@", "exit", "0")
	for _, child := range children(t, pid) {
		r.Errorf("left: process %d", child)
	}
}

func TestFlockWithCloseKilled(t *testing.T) {
	r := newRoom(t)
	flock, pid, _ := r.hold("--close")
	flock.Process.Kill()
	flock.Wait()
	r.expect(0, "-n", "lock", "@", "exit", "0")
	kill(t, pid)
}

// Who waits and is killed leaves nothing that keeps others out.
func TestWaiterKilled(t *testing.T) {
	r := newRoom(t)
	_, _, release := r.hold()
	mark := r.path("it ran")
	waiter := r.command("lock", "@", "hold", mark, r.path("never"))
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	r.await("a waiter", func() bool { return strings.Contains(r.expect(0, "--holders", "lock"), "(waiting)") })
	waiter.Process.Kill()
	waiter.Wait()
	release()
	r.expect(0, "-w", "60", "lock", "@", "exit", "0")
	if exists(mark) {
		r.Error("a command ran without its lock")
	}
}

func TestShellString(t *testing.T) {
	r := newRoom(t)
	if out := r.expect(0, "lock", "-c", `echo "a b"& echo c`); out != "\"a b\"\nc\n" {
		r.Errorf("-c gives %q", out)
	}
}

func TestArguments(t *testing.T) {
	r := newRoom(t)
	words := []string{"", "a b", `say "hi"`, `\`, `dir name\`, `a\"b`, "x&y|z^", "%PATH%", "é", "*"}
	want := ""
	for _, word := range words {
		want += strconv.Quote(word) + "\n"
	}
	if out := r.expect(0, append([]string{"lock", "@", "print"}, words...)...); out != want {
		r.Errorf("arguments come out as %s", out)
	}
}

func TestBatch(t *testing.T) {
	r := newRoom(t)
	text := "@\"" + r.self + "\" helper print %*\r\n@exit /b 6\r\n"
	if err := os.WriteFile(r.path("a job.cmd"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a job", "a job.cmd", `.\a job`} {
		if out := r.expect(6, "lock", name, "x", "y&echo z"); out != "\"x\"\n\"y&echo z\"\n" {
			r.Errorf("%s gives %s", name, out)
		}
	}
}

func TestBackendProgram(t *testing.T) {
	r := newRoom(t)
	program := "@\"" + r.self + "\" helper print %*\r\n@exit /b 6\r\n"
	for _, path := range []string{filepath.Join(filepath.Dir(r.flock), "flock-probe.cmd"), r.path("flock-here.cmd")} {
		if err := os.WriteFile(path, []byte(program), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out := r.expect(6, "--backend", "probe", "lock", "a b"); out != "\"--backend\"\n\"probe\"\n\"lock\"\n\"a b\"\n" {
		r.Errorf("the words come out as %s", out)
	}
	for _, name := range []string{"nosuch", "here"} { // the current directory does not count
		out := r.expect(failure.ExUsage, "--backend", name, "lock", "@", "exit", "0")
		if !strings.Contains(out, "there is no flock-"+name+" in ") {
			r.Errorf("without a program it says %s", out)
		}
	}
}

func TestStandardInput(t *testing.T) {
	r := newRoom(t)
	cmd := r.command("lock", "@", "copy")
	cmd.Stdin = strings.NewReader("some input")
	if out, err := cmd.Output(); string(out) != "some input" || err != nil {
		r.Errorf("the command reads and writes %q, %v", out, err)
	}
}

func TestInterrupt(t *testing.T) {
	r := newRoom(t)
	mark := r.path("mark")
	// There may be one already.
	windows.NewLazySystemDLL("kernel32.dll").NewProc("AllocConsole").Call()
	cmd := r.command("lock", "@", "interrupt", mark)
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.await("the command", func() bool { return exists(mark) })
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid)); err != nil {
		cmd.Process.Kill()
		t.Skip("no console: ", err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 42 {
		r.Errorf("exit status %d, want that of the command, 42", status)
	}
}

func TestPermits(t *testing.T) {
	r := newRoom(t)
	_, _, release := r.hold("--permits", "2")
	_, _, releaseSecond := r.hold("--permits", "2")
	r.expect(1, "-n", "--permits", "2", "lock", "@", "exit", "0")
	release()
	releaseSecond()
	r.expect(0, "-w", "60", "--permits", "2", "lock", "@", "exit", "0")
	r.expect(0, "-w", "60", "lock", "@", "exit", "0")
}

func TestCooldown(t *testing.T) {
	r := newRoom(t)
	r.expect(0, "--cooldown", "60", "lock", "@", "exit", "0")
	r.expect(1, "-n", "--cooldown", "60", "lock", "@", "exit", "0")
	r.expect(0, "-n", "lock", "@", "exit", "0")
}

func TestRemove(t *testing.T) {
	r := newRoom(t)
	gone := func(what string, want bool) {
		t.Helper()
		if got := !exists(r.path("lock")); got != want {
			t.Errorf("%s: removed: %v", what, got)
		}
	}
	for _, options := range [][]string{nil, {"-s"}, {"-o"}, {"-s", "-o"}, {"--permits", "2"}} {
		r.expect(3, append(options, "--remove", "lock", "@", "exit", "3")...)
		gone(fmt.Sprint(options), true)
	}
	r.expect(69, "--remove", "lock", "missing.exe")
	gone("a missing command", true)

	reader, _, release := r.hold("-s", "--remove")
	r.expect(0, "-s", "--remove", "lock", "@", "exit", "0")
	gone("another reader", false)
	release()
	reader.Wait()
	gone("the last reader", true)

	os.WriteFile(r.path("lock"), []byte("text"), 0o666)
	r.expect(0, "--remove", "lock", "@", "exit", "0")
	gone("not empty", false)
	os.WriteFile(r.path("lock"), nil, 0o666)
	if err := os.Link(r.path("lock"), r.path("link")); err != nil {
		t.Fatal(err)
	}
	r.expect(0, "--remove", "lock", "@", "exit", "0")
	gone("two links", false)

	if err := os.Mkdir(r.path("dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.expect(64, "--remove", "dir", "@", "exit", "0")
}

func TestHolders(t *testing.T) {
	r := newRoom(t)
	r.expect(0, "lock", "@", "exit", "0")
	r.expect(1, "--holders", "lock")
	flock, _, _ := r.hold()
	if out := r.expect(0, "--holders", "lock"); !strings.Contains(out, strconv.Itoa(flock.Process.Pid)+" exclusive") {
		r.Errorf("--holders: %s", out)
	}
}

// Several processes run commands that must not meet; then nothing is left but the lock file and its state directory.
func TestTorture(t *testing.T) {
	workers, rounds := 6, 10
	if testing.Short() {
		workers, rounds = 3, 3
	}
	r := newRoom(t)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range rounds {
				r.expect(0, "lock", "@", "section", r.path("section"))
			}
		})
	}
	// meanwhile, holders are killed
	group.Go(func() {
		for n := range rounds {
			mark := r.path("victim" + strconv.Itoa(n))
			cmd := r.command("lock", "@", "hold", mark, r.path("never"))
			if err := cmd.Start(); err != nil {
				r.Error(err)
				return
			}
			pid := 0
			for pid == 0 {
				time.Sleep(time.Millisecond)
				text, _ := os.ReadFile(mark)
				pid, _ = strconv.Atoi(string(text))
			}
			if n%2 == 0 {
				cmd.Process.Kill()
			}
			kill(t, pid)
			cmd.Wait()
			os.Remove(mark)
		}
	})
	group.Wait()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		// A flock that is killed while it makes the state directory may leave the last one.
		if name := entry.Name(); name != "lock" && name != ".lock.flock" && name != ".lock.flock.new" {
			r.Errorf("left: %s", name)
		}
	}
	if state, err := os.ReadDir(r.path(".lock.flock")); err != nil || len(state) != 1 {
		r.Errorf("left in the state directory: %v, %v", state, err)
	}
}
