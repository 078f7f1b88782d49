package fallback

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// The test binary is also the contender processes: roles run in a child that has FALLBACK_ROLE.
var roles = map[string]func(dir string, n int){
	"killed at a step": killedAtStep,
	"tortured":         tortured,
	"contend":          contend,
}

func TestMain(m *testing.M) {
	if name, isChild := os.LookupEnv("FALLBACK_ROLE"); isChild {
		n, _ := strconv.Atoi(os.Getenv("FALLBACK_N"))
		roles[name](os.Getenv("FALLBACK_PLACE"), n) // a panic where there is no such role
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, role, dir string, n int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), "FALLBACK_ROLE="+role, "FALLBACK_PLACE="+dir, "FALLBACK_N="+strconv.Itoa(n))
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func newLock(dir string) *Lock { return Open(dir, filepath.Join(filepath.Dir(dir), "f"), -1) }

// lockFile makes a lock file in a directory of its own and returns its state directory.
func lockFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(tempDir(t), "f")
	must(os.WriteFile(file, nil, 0o666))
	dir, err := StateDir(file, "")
	must(err)
	return dir
}

// settled asserts that the next contender gets in at once, and leaves nothing but a free lock.
func settled(t *testing.T, dir string) {
	t.Helper()
	l := newLock(dir)
	if err := l.TryLock(); err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if names := list(t, dir); !slices.Equal(names, []string{free}) {
		t.Fatalf("left in the state directory: %q", names)
	}
	for _, name := range list(t, filepath.Dir(dir)) {
		if runtime.GOOS == "windows" && name == filepath.Base(stagingName(dir)) {
			continue // under Wine it stays
		}
		if strings.HasPrefix(name, ".") && name != filepath.Base(dir) {
			t.Fatalf("left beside the lock file: %q", name)
		}
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A mortal system kills its process before the operation that is its turn.
type mortal struct {
	*thisSystem
	left int
}

func (m *mortal) tick() {
	if m.left--; m.left < 0 {
		self, err := os.FindProcess(os.Getpid())
		must(err)
		must(self.Kill())
		select {}
	}
}

func (m *mortal) List() ([]string, error)  { m.tick(); return m.thisSystem.List() }
func (m *mortal) Rename(a, b string) error { m.tick(); return m.thisSystem.Rename(a, b) }
func (m *mortal) Make(name string) error   { m.tick(); return m.thisSystem.Make(name) }
func (m *mortal) Remove(name string) error { m.tick(); return m.thisSystem.Remove(name) }
func (m *mortal) CloseLifeline(l lifeline) { m.tick(); m.thisSystem.CloseLifeline(l) }
func (m *mortal) Mark(signal int, is openfile.Mark) error {
	m.tick()
	return m.thisSystem.Mark(signal, is)
}
func (m *mortal) Unmark()         { m.tick(); m.thisSystem.Unmark() }
func (m *mortal) MoveAway() error { m.tick(); return m.thisSystem.MoveAway() }
func (m *mortal) OpenLifeline(name string) (lifeline, error) {
	m.tick()
	return m.thisSystem.OpenLifeline(name)
}

// killedAtStep locks in all modes, as a program and by an open file, and is killed at step n.
func killedAtStep(dir string, n int) {
	file := filepath.Join(filepath.Dir(dir), "f")
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(err)
	defer f.Close()
	state, err := openState(dir, true)
	must(err)
	system := func(fd int) *mortal {
		return &mortal{&thisSystem{state, openfile.Table{Path: file, Opened: fd, FD: fd}}, n}
	}
	for _, fd := range kindsOfLock(f) {
		l := &Lock{dir: dir, path: file, fd: fd, file: fd, state: state}
		m := system(fd)
		for _, mode := range []Mode{Exclusive, Shared, Permit, Exclusive} {
			a := newAttempt(context.Background(), m, l, Request{Mode: mode, Permits: 1, Try: true})
			isHeld, _, err := a.acquire(nil)
			must(err)
			if !isHeld {
				panic("kept out")
			}
			if fd >= 0 {
				a.leave()
			}
		}
		must(newAttempt(context.Background(), m, l, Request{}).release())
		n = m.left
	}
	l := newLock(dir)
	l.state = state
	a := newAttempt(context.Background(), system(-1), l, Request{Mode: Exclusive, Try: true})
	_, _, err = a.acquire(nil)
	must(err)
	must(a.discard())
}

// kindsOfLock returns -1, for a lock by a lifeline, and the descriptor of an open file that can have a lock itself.
func kindsOfLock(f *os.File) []int {
	if CheckFile(int(f.Fd())) == nil {
		return []int{-1, int(f.Fd())}
	}
	return []int{-1}
}

func TestKilledAtEveryStep(t *testing.T) {
	dir, fewest := lockFile(t), 30
	f, err := os.Open(filepath.Join(filepath.Dir(dir), "f"))
	must(err)
	defer f.Close()
	if len(kindsOfLock(f)) > 1 {
		fewest = 80
	}
	for n := 0; ; n++ {
		err := child(t, "killed at a step", dir, n).Wait()
		settled(t, dir)
		if err == nil {
			t.Logf("%d steps", n)
			if n < fewest {
				t.Fatal("that was not every step")
			}
			return
		}
	}
}

func TestKilledWhileMakingTheStateDirectory(t *testing.T) {
	for steps := range 4 {
		dir := lockFile(t)
		temp := filepath.Join(stagingName(dir), nonce())
		if steps > 0 {
			must(os.Mkdir(stagingName(dir), 0o777))
		}
		if steps > 1 {
			must(os.Mkdir(temp, 0o777))
		}
		if steps > 2 {
			must(os.WriteFile(filepath.Join(temp, free), nil, 0o666))
		}
		settled(t, dir)
	}
}

func contend(dir string, n int) {
	l := newLock(dir)
	for range n {
		must(l.Lock(context.Background()))
		guard(dir, Exclusive)()
		must(l.Unlock())
	}
}

// guard takes the kernel's lock on another file, which nobody can have who is locked out.
func guard(dir string, mode Mode) (done func()) {
	guarded, err := os.OpenFile(dir+".guard", os.O_RDWR|os.O_CREATE, 0o666)
	must(err)
	if err := kernelLock(guarded, mode == Exclusive); err != nil {
		names, _ := os.ReadDir(dir)
		f, _ := os.OpenFile(filepath.Dir(dir)+"/violation", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		fmt.Fprintln(f, "two inside:", names)
		f.Close()
	}
	return func() { guarded.Close() }
}

func noViolation(t *testing.T, dir string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Dir(dir) + "/violation"); err == nil {
		t.Fatalf("%s", b)
	}
	os.Remove(dir + ".guard")
}

func TestManyMakeTheStateDirectory(t *testing.T) {
	for range 10 {
		dir := lockFile(t)
		var cs []*exec.Cmd
		for range 12 {
			cs = append(cs, child(t, "contend", dir, 3))
		}
		for _, c := range cs {
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}
		noViolation(t, dir)
		settled(t, dir)
	}
}

func tortured(dir string, n int) {
	l := newLock(dir)
	for {
		mode := Mode(1 + rand.N(3))
		must(l.Acquire(context.Background(), Request{Mode: mode, Permits: 2}))
		done := guard(dir, mode)
		time.Sleep(time.Duration(rand.N(2000)) * time.Microsecond)
		done()
		switch rand.N(6) {
		case 0, 1: // the next one converts
		case 2:
			must(l.Discard())
		default:
			must(l.Unlock())
		}
	}
}

func TestTorture(t *testing.T) {
	long := cmp.Or(tortureDuration(t), 3*time.Second)
	if testing.Short() {
		long = time.Second
	}
	dir := lockFile(t)
	var stop = make(chan struct{})
	var wg sync.WaitGroup
	kills := make([]int, 6)
	for i := range kills {
		wg.Go(func() {
			for {
				c := child(t, "tortured", dir, 0)
				for range rand.N(3) {
					time.Sleep(time.Duration(rand.N(30)) * time.Millisecond)
					stopped(c.Process, time.Duration(rand.N(10))*time.Millisecond)
				}
				time.Sleep(time.Duration(rand.N(60)) * time.Millisecond)
				c.Process.Kill()
				c.Wait()
				kills[i]++
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	time.Sleep(long)
	close(stop)
	wg.Wait()
	noViolation(t, dir)
	l := newLock(dir) // what was left beside the lock file goes when the next state directory is made
	must(l.TryLock())
	must(l.Discard())
	settled(t, dir)
	n := 0
	for _, k := range kills {
		n += k
	}
	t.Logf("%d killed in %v", n, long)
}
