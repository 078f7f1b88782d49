package guard

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalVariable says that this test runs on a terminal, in a session of a shell.
const terminalVariable = "FLOCK_TEST_TERMINAL"

// TestKeyBeforeStart has a Ctrl-C on the terminal come when there is a guard, but no command, and the guard alone know
// of it. The command is not started.
func TestKeyBeforeStart(t *testing.T) {
	if os.Getenv(terminalVariable) != "" {
		awaitKey(t)
		return
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shell := exec.Command("sh", "-c", `trap : INT; "$0" -test.run "$1"; exit $?`, os.Args[0], "^"+t.Name()+"$")
	shell.Env = append(os.Environ(), terminalVariable+"=1")
	shell.Stdin, shell.SysProcAttr = terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if text += lines.Text() + "\n"; lines.Text() == "ready" {
			master.Write([]byte{3})
		}
	}
	if err := shell.Wait(); err != nil {
		t.Error(err, text)
	}
}

// awaitKey is this test on the terminal.
func awaitKey(t *testing.T) {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, unix.SIGINT)
	g := startCommand(t, "sleep", "1000")
	isGuard := func() bool { // it has caught its signals, and then taken its name
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", g.pid))
		return err != nil || strings.TrimSpace(string(name)) == Name
	}
	for !isGuard() {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	<-keys
	g.Give(Message{Kind: Run, Deadlines: farAway})
	if r := last(t, g); r.Number != 128+int(unix.SIGINT) || r.Cause != NoCause {
		t.Errorf("%+v", r)
	}
}
