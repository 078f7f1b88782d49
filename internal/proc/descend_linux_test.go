package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs a process that answers for each process id that it reads whether that may be its descendant. It starts with
// the ids of a child and of an orphan of its own.
func TestMain(m *testing.M) {
	if os.Getenv("FLOCK_TEST_DESCEND") == "" {
		os.Exit(m.Run())
	}
	out, err := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!").Output()
	child := exec.Command("sleep", "60")
	if err != nil || child.Start() != nil {
		os.Exit(1)
	}
	fmt.Println(child.Process.Pid, strings.TrimSpace(string(out)))
	for pid := 0; ; {
		if _, err := fmt.Scan(&pid); err != nil {
			child.Process.Kill()
			break
		}
		fmt.Println(MayDescend(pid))
	}
}

func TestMayDescend(t *testing.T) {
	start := func(name string, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "FLOCK_TEST_DESCEND=1")
		in, err := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		if err != nil || err2 != nil || c.Start() != nil {
			t.Fatal("cannot start ", name)
		}
		t.Cleanup(func() {
			in.Close()
			c.Wait()
		})
		return c, in, bufio.NewReader(out)
	}
	elder, elderIn, elderOut := start("sh", "-c", "exec 3<&0; read go; cat <&3 & echo $!; wait")
	for began, _ := Start(elder.Process.Pid); Age(began) < 20*time.Millisecond; { // start times are counted in 10 ms
		runtime.Gosched()
	}
	_, in, out := start(os.Args[0])
	var child, orphan int
	if _, err := fmt.Fscan(out, &child, &orphan); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(orphan); err == nil {
			p.Kill()
		}
	})
	younger, _, _ := start("cat")
	var nephew int
	fmt.Fprintln(elderIn)
	if _, err := fmt.Fscan(elderOut, &nephew); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what string
		pid  int
		want bool
	}{
		{"its child", child, true},
		{"its orphan", orphan, true},
		{"an older process", elder.Process.Pid, false},
		{"this process", os.Getpid(), false},
		{"a younger process of an older one", nephew, false},
		{"a younger process of its parent", younger.Process.Pid, true}, // which could have adopted it
	} {
		fmt.Fprintln(in, test.pid)
		var got bool
		if _, err := fmt.Fscan(out, &got); err != nil || got != test.want {
			t.Errorf("%s: %v, want %v (error %v)", test.what, got, test.want, err)
		}
	}
}

// TestMaker asserts that a process of another session is not taken for a child, which it may have become when it was orphaned.
func TestMaker(t *testing.T) {
	for want, attributes := range map[int]*syscall.SysProcAttr{os.Getpid(): nil, 0: {Setsid: true}} {
		c := exec.Command("cat")
		c.SysProcAttr = attributes
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if maker := Maker(c.Process.Pid); maker != want {
			t.Errorf("%d, not %d", maker, want)
		}
		in.Close()
		c.Wait()
	}
}
