//go:build linux

package fallback

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the contender processes: roles run in a child that has FALLBACK_ROLE.
var roles = map[string]func(dir string, n int){
	"killed at a step": killedAtStep,
	"tortured":         tortured,
	"tortured, events lost": func(dir string, n int) {
		loseEvent = func() time.Duration { return max(0, rand.N(200*time.Millisecond)-100*time.Millisecond) }
		tortured(dir, n)
	},
	"tortured, no FIFO": func(dir string, n int) {
		makeFIFO = func(int, string, uint32) error { return unix.EPERM }
		tortured(dir, n)
	},
	"contend":         contend,
	"wait":            func(dir string, _ int) { must(newLock(dir).Lock(context.Background())) },
	"nobody":          nobody,
	"lock for parent": lockForParent,
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
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "FALLBACK_ROLE="+role, "FALLBACK_PLACE="+dir, "FALLBACK_N="+strconv.Itoa(n))
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// newLock returns a lock of this process, which no other Lock has.
func newLock(dir string) *Lock {
	l := lockOf(dir, os.Getpid())
	l.owner.number = int(opened.Add(1))
	return l
}

func lockOf(dir string, pid int) *Lock {
	l, err := OfProcess(dir, "", pid, -1)
	must(err)
	return l
}

func me() owner {
	o, err := self()
	must(err)
	return o
}

// lockFile makes a lock file in a directory of its own and returns its state directory.
func lockFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	must(os.WriteFile(file, nil, 0666))
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
		if strings.HasPrefix(name, ".") && name != filepath.Base(dir) {
			t.Fatalf("left beside the lock file: %q", name)
		}
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// mortal kills its process before the operation that is its turn.
type mortal struct {
	*stateDir
	left int
}

func (m *mortal) tick() {
	if m.left--; m.left < 0 {
		unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}

func (m *mortal) List() ([]string, error)  { m.tick(); return m.stateDir.List() }
func (m *mortal) Rename(a, b string) error { m.tick(); return m.stateDir.Rename(a, b) }
func (m *mortal) Create(name string) error { m.tick(); return m.stateDir.Create(name) }
func (m *mortal) Remove(name string) error { m.tick(); return m.stateDir.Remove(name) }

func killedAtStep(dir string, n int) {
	l := newLock(dir)
	state, err := openState(dir, true)
	must(err)
	m := &mortal{state, n}
	call := func(r Request) *call {
		r.Try = true
		c := newCall(l, r, me(), m, thisSystem{-1})
		c.state, c.line, c.wake = state, &line{state: state}, func(bool) {}
		m.tick()
		c.line.join(me(), Exclusive)
		return c
	}
	for _, mode := range []Mode{Exclusive, Shared, Permit, Exclusive, Permit, Shared, Exclusive} {
		c := call(Request{Mode: mode, Permits: 1})
		_, err := c.acquire(newWaiting(context.Background(), c))
		must(err)
	}
	must(call(Request{}).release())
}

func TestKilledAtEveryStep(t *testing.T) {
	dir := lockFile(t)
	for n := 0; ; n++ {
		err := child(t, "killed at a step", dir, n).Wait()
		settled(t, dir)
		if err == nil {
			t.Logf("%d steps", n)
			if n < 20 {
				t.Fatal("that was not every step")
			}
			return
		}
	}
}

// deadOwner is a process that has been.
func deadOwner(t *testing.T) owner {
	c := exec.Command("/bin/cat")
	in, err := c.StdinPipe()
	must(err)
	must(c.Start())
	o, err := process(c.Process.Pid)
	must(err)
	in.Close()
	c.Wait()
	return o
}

func TestKilledWhileMakingTheStateDirectory(t *testing.T) {
	for _, before := range []bool{true, false} {
		for steps := range 4 {
			dir := lockFile(t)
			if !before { // another maker has won meanwhile
				settled(t, dir)
			}
			temp := filepath.Join(stagingName(dir), deadOwner(t).renewed().String())
			if steps > 0 {
				must(os.Mkdir(stagingName(dir), 0777))
			}
			if steps > 1 {
				must(os.Mkdir(temp, 0777))
			}
			if steps > 2 {
				must(os.WriteFile(filepath.Join(temp, free), nil, 0666))
			}
			settled(t, dir)
		}
	}
}

func TestZombieIsDead(t *testing.T) {
	dir := lockFile(t)
	c := exec.Command("/bin/cat")
	in, err := c.StdinPipe()
	must(err)
	must(c.Start())
	if err := lockOf(dir, c.Process.Pid).TryLock(); err != nil {
		t.Fatal(err)
	}
	l := newLock(dir)
	if err := l.TryRLock(); err == nil {
		t.Fatal("two inside")
	}
	in.Close()
	if err := l.RLock(until(time.Now().Add(20 * time.Second))); err != nil {
		t.Fatal(err) // not reaped yet
	}
	c.Wait()
	l.Unlock()
	settled(t, dir)
}

func contend(dir string, n int) {
	l := newLock(dir)
	for range n {
		must(l.Lock(context.Background()))
		guard(dir, unix.LOCK_EX)()
		must(l.Unlock())
	}
}

// guard takes the kernel's lock on another file, which nobody can have who is locked out.
func guard(dir string, how int) (done func()) {
	fd, err := unix.Open(dir+".guard", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0666)
	must(err)
	if err := unix.Flock(fd, how|unix.LOCK_NB); err != nil {
		names, _ := os.ReadDir(dir)
		f, _ := os.OpenFile(filepath.Dir(dir)+"/violation", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0666)
		fmt.Fprintln(f, "two inside:", names)
		f.Close()
	}
	return func() { unix.Close(fd) }
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
		must(l.lock(context.Background(), Request{Mode: mode, Permits: 2}))
		how := unix.LOCK_SH
		if mode == Exclusive {
			how = unix.LOCK_EX
		}
		done := guard(dir, how)
		time.Sleep(time.Duration(rand.N(2000)) * time.Microsecond)
		done()
		if rand.N(3) > 0 { // otherwise the next one converts
			must(l.Unlock())
		}
	}
}

func TestTorture(t *testing.T) { torture(t, "tortured") }

// Exclusion owes nothing to events: here each second one is lost.
func TestTortureWithEventsLost(t *testing.T) { torture(t, "tortured, events lost") }

// Some filesystems have no FIFOs.
func TestTortureWithoutFIFO(t *testing.T) { torture(t, "tortured, no FIFO") }

func torture(t *testing.T, role string) {
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
				c := child(t, role, dir, 0)
				for range rand.N(3) {
					time.Sleep(time.Duration(rand.N(30)) * time.Millisecond)
					c.Process.Signal(unix.SIGSTOP)
					time.Sleep(time.Duration(rand.N(10)) * time.Millisecond)
					c.Process.Signal(unix.SIGCONT)
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
	settled(t, dir)
	n := 0
	for _, k := range kills {
		n += k
	}
	t.Logf("%d killed in %v", n, long)
}

// TestBehindStopped asserts that Lock finds out that the waiters before it are stopped, also with a context that can be
// cancelled, for which it wakes up often.
func TestBehindStopped(t *testing.T) {
	dir := lockFile(t)
	l := newLock(dir)
	must(l.TryLock())
	await := func(waiters int) {
		for n := 0; n < waiters; time.Sleep(time.Millisecond) {
			n = 0
			for _, name := range list(t, dir) {
				if strings.HasPrefix(name, wait+",") {
					n++
				}
			}
		}
	}
	var before []*exec.Cmd
	for n := range eldest {
		c := child(t, "wait", dir, 0)
		defer c.Process.Kill()
		before = append(before, c)
		await(n + 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	ended := make(chan error)
	last := newLock(dir)
	go func() { ended <- last.Lock(ctx) }()
	await(eldest + 1)
	for _, c := range before {
		must(c.Process.Signal(unix.SIGSTOP))
		_, err := unix.Wait4(c.Process.Pid, nil, unix.WUNTRACED, nil)
		must(err) // until it is stopped, it could still take the lock
	}
	must(l.Unlock())
	err := <-ended
	if took := time.Since(began); err != nil || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	if err == nil {
		must(last.Unlock())
	}
	for _, c := range before {
		must(c.Process.Signal(unix.SIGCONT))
	}
	for _, c := range before {
		must(c.Wait())
	}
}
