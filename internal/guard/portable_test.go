//go:build unix && !linux

package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// clockVariable names a file: while it exists, the clock is an hour later, as when a Mac has slept for that long. The
// timers do not know.
const clockVariable = "FLOCK_TEST_CLOCK"

// groupVariable says that a signal to a process group of the dead alone is EPERM, as on macOS.
const groupVariable = "FLOCK_TEST_GROUP"

// It is called before the init functions, of which one is the life of a guard.
var _ = imitate()

func imitate() bool {
	if file := os.Getenv(clockVariable); file != "" {
		setClock(file)
	}
	if os.Getenv(groupVariable) != "" {
		refuseTheDead()
	}
	return true
}

func refuseTheDead() {
	isOfTheDead = func(group int) bool { return living(group) == 0 }
	signalGroup = func(group int, s unix.Signal) error {
		if unix.Kill(-group, 0) == nil && living(group) == 0 {
			return unix.EPERM
		}
		return unix.Kill(-group, s)
	}
}

func setClock(file string) {
	real := readClock
	readClock = func() time.Duration {
		if _, err := os.Stat(file); err == nil {
			return real() + time.Hour
		}
		return real()
	}
}

// living returns how many processes of a group have not ended.
func living(group int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		var pid, parent, itsGroup int
		var name, state string
		fmt.Sscan(string(text), &pid, &name, &state, &parent, &itsGroup)
		if itsGroup == group && state != "Z" && state != "X" {
			n++
		}
	}
	return n
}

// TestClockGoesOnAlone has the machine sleep beyond the limit of a command. When it wakes up, the command is ended.
func TestClockGoesOnAlone(t *testing.T) {
	clock := t.TempDir() + "/slept"
	t.Setenv(clockVariable, clock)
	g, _ := start(t, "exec sleep 1000")
	g.Give(Message{Kind: Run, Deadlines: farAway, Rules: Rules{Limit: 30 * time.Minute}})
	if m := <-g.reports; m.Kind != Started { // and its limit is known
		t.Fatalf("%+v", m)
	}
	os.WriteFile(clock, nil, 0o600)
	if r := last(t, g); r.Cause != AtLimit {
		t.Errorf("%+v", r)
	}
}

// TestTimerAfterSleep is the same for the timers of the guard's parent.
func TestTimerAfterSleep(t *testing.T) {
	defer func(real func() time.Duration) { readClock = real }(readClock)
	clock := t.TempDir() + "/slept"
	setClock(clock)
	rang := make(chan struct{})
	timer, err := newTimerFor(func() { close(rang) })
	if err != nil {
		t.Fatal(err)
	}
	timer.set(Now() + 30*time.Minute)
	os.WriteFile(clock, nil, 0o600)
	select {
	case <-rang:
	case <-time.After(time.Minute):
		t.Error("the timer does not know that it is late")
	}
}

// TestGroupOfTheDead has a command leave a child behind that ends and that nobody reaps. The signals to the process
// group are errors then, and nobody is left to wait for.
func TestGroupOfTheDead(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	t.Setenv(groupVariable, "1")
	g, _ := start(t, "sleep 1000 & exit 3")
	g.Give(Message{Kind: Run, Deadlines: farAway, Rules: Rules{Leftovers: true}})
	for _, r := range reports(t, g) {
		if r.Kind == Unkillable {
			t.Errorf("%+v", r)
		}
	}
}

// TestGroupThatHasJustEnded: the last one of a process group ends between a look and the signal, which is no error.
func TestGroupThatHasJustEnded(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	defer func(isDead func(int) bool, signal func(int, unix.Signal) error) {
		isOfTheDead, signalGroup = isDead, signal
	}(isOfTheDead, signalGroup)
	refuseTheDead()
	child := exec.Command("true")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	for end := time.Now().Add(time.Minute); living(child.Process.Pid) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
	var f family
	if err := f.send(process{pid: -child.Process.Pid}, unix.SIGKILL); err != unix.ESRCH {
		t.Errorf("the signal to its group: %v", err)
	}
}
