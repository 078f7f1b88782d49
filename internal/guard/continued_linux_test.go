package guard

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// TestContinued stops a child that has not become the command: it goes on.
func TestContinued(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	pid := child.Process.Pid
	unix.Kill(pid, unix.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatal(err, status)
	}
	threads, err := sys.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{life: newLife(nil), watch: watch{threads[0], threads[1]}}
	r.life.family.group = pid
	ended := make(chan struct{})
	go func() {
		r.awaitStart()
		close(ended)
	}()
	unix.Write(threads[0], []byte{0})
	for end := time.Now().Add(time.Minute); !status.Continued(); time.Sleep(time.Millisecond) {
		_, err := syscall.Wait4(pid, &status, syscall.WCONTINUED|syscall.WNOHANG, nil)
		if err != nil || time.Now().After(end) {
			t.Fatal(err, status)
		}
	}
	unix.Write(threads[0], []byte{0})
	<-ended
}
