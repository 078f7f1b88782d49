//go:build !(plan9 || solaris || illumos || aix)

package events

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// long is longer than any wait that an event ends takes.
const long = 20 * time.Second

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// openDir makes a directory and opens it. os.RemoveAll, which t.TempDir uses, does not work under Wine.
func openDir(t *testing.T) Directory {
	name, err := os.MkdirTemp("", "events")
	must(err)
	dir, err := os.Open(name)
	must(err)
	t.Cleanup(func() {
		dir.Close()
		removeDir(name)
	})
	return Directory{FD: int(dir.Fd()), Name: name}
}

func removeDir(name string) error {
	entries, _ := os.ReadDir(name)
	for _, e := range entries {
		os.Remove(filepath.Join(name, e.Name()))
	}
	return os.Remove(name)
}

// startSleeper starts a process that ends when end is called: it reads standard input, and end closes that.
func startSleeper(t *testing.T) (pid int, end func()) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "EVENTS_ROLE=sleep")
	in, err := c.StdinPipe()
	must(err)
	must(c.Start())
	t.Cleanup(func() { in.Close(); c.Wait() })
	return c.Process.Pid, func() { in.Close() }
}

func TestMain(m *testing.M) {
	switch os.Getenv("EVENTS_ROLE") {
	case "sleep":
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	case "wait":
		waitQuietly()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// expect asserts that Wait returns want, and that it returns before the time is over unless want is Timeout.
func expect(t *testing.T, w *Watcher, d time.Duration, check Check, want Event) {
	t.Helper()
	started := time.Now()
	got := w.Wait(d, check)
	took := time.Since(started)
	if got != want || (took >= d) != (want == Timeout) {
		t.Fatalf("%v after %v, not %v", got, took, want)
	}
}

func TestDirectoryChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(name string) error
	}{
		{"renamed", func(n string) error { return os.Rename(n, n+"2") }},
		{"removed", os.Remove},
		{"directory gone", func(n string) error { return removeDir(filepath.Dir(n)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "directory gone" && runtime.GOOS == "windows" {
				t.Skip("an open directory cannot be removed")
			}
			dir := openDir(t)
			name := filepath.Join(dir.Name, "a")
			must(os.WriteFile(name, nil, 0o666))
			var w Watcher
			defer w.Close()
			if added, err := w.Directory(dir); !added || err != nil {
				t.Fatal(added, err)
			}
			if added, err := w.Directory(dir); added || err != nil {
				t.Fatal(added, err)
			}
			expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
			must(c.change(name)) // before the wait: no change may be lost
			expect(t, &w, long, Check{}, Changed)
			time.AfterFunc(20*time.Millisecond, func() {
				os.Mkdir(dir.Name, 0o777)
				os.WriteFile(name, nil, 0o666)
				c.change(name)
			})
			if c.name != "directory gone" { // then it is not watched any more
				expect(t, &w, long, Check{}, Changed)
			}
			w.NoDirectory()
			removeDir(dir.Name)
			expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
		})
	}
}

func TestProcessEnds(t *testing.T) {
	var w Watcher
	defer w.Close()
	first, end := startSleeper(t)
	second, endSecond := startSleeper(t)
	third, endThird := startSleeper(t)
	if added, err := w.Processes([]int{first, second}); !added || err != nil {
		t.Fatal(added, err)
	}
	if added, err := w.Processes([]int{second, first}); added || err != nil {
		t.Fatal(added, err)
	}
	expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
	end()
	expect(t, &w, long, Check{}, Ended)
	expect(t, &w, 20*time.Millisecond, Check{}, Timeout) // reported once
	if added, err := w.Processes([]int{third}); !added || err != nil {
		t.Fatal(added, err)
	}
	endSecond() // not watched any more
	expect(t, &w, 100*time.Millisecond, Check{}, Timeout)
	time.AfterFunc(20*time.Millisecond, endThird)
	expect(t, &w, long, Check{}, Ended)
}

func TestProcessThatIsGone(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "EVENTS_ROLE=sleep")
	must(c.Run())
	var w Watcher
	defer w.Close()
	if added, err := w.Processes([]int{c.Process.Pid}); !added || err != nil {
		t.Fatal(added, err)
	}
	if runtime.GOOS == "windows" { // c still has a handle on it
		expect(t, &w, long, Check{}, Ended)
	}
	expect(t, &w, 20*time.Millisecond, Check{}, Timeout)
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string) error
	}{
		{"name gone", func(d string) error { return os.Rename(d+"/a", d+"/c") }},
		{"other name gone", func(d string) error { return os.Remove(d + "/b") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := openDir(t)
			for _, name := range []string{"a", "b"} {
				must(os.WriteFile(filepath.Join(dir.Name, name), nil, 0o666))
			}
			check := Check{Every: 40 * time.Millisecond, Directory: dir, Names: []string{"a", "b"}}
			var w Watcher
			expect(t, &w, 200*time.Millisecond, check, Timeout)
			time.AfterFunc(100*time.Millisecond, func() { must(c.change(dir.Name)) })
			expect(t, &w, long, check, Seen)
			if e := w.Wait(10*time.Millisecond, check); e != Seen {
				t.Error("a shorter wait does not check:", e)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	var w Watcher
	for _, d := range []time.Duration{-1, 0, 1, time.Millisecond, 1100 * time.Millisecond} {
		started := time.Now()
		if e := w.Wait(d, Check{}); e != Timeout || time.Since(started) < d {
			t.Fatal(d, e, time.Since(started))
		}
	}
}
