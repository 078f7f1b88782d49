//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A machine is a Linux that runs as a process, in a pid namespace of its own.
type machine struct {
	name, address string
	process       *exec.Cmd
	connection    *exec.Cmd // the ssh that the others share
}

var (
	server = &machine{name: "server", address: "10.9.0.1"}
	c1     = &machine{name: "c1", address: "10.9.0.2"}
	c2     = &machine{name: "c2", address: "10.9.0.3"}
)

// bootTime is how long a machine may take to start, and longest how long a command may take, on a busy machine.
const (
	bootTime = 5 * time.Minute
	longest  = 3 * time.Minute
)

// boot starts the machines, and waits until all of them are ready.
func boot(machines ...*machine) {
	for _, m := range machines {
		m.start()
	}
	for _, m := range machines {
		m.connect()
	}
}

// disk is the file with what stays when the machine is restarted.
func (m *machine) disk() string { return m.name + ".img" }

func (m *machine) start() {
	os.RemoveAll("um/" + m.name)
	os.Remove(m.name + ".cow")
	console, err := os.Create("console-" + m.name)
	check(err)
	defer console.Close()
	args := []string{"mem=512M", "umid=" + m.name, "uml_dir=/um/", "ubd0=" + m.name + ".cow,root.img",
		"ubd1r=files.tar", "ubd2=" + m.disk(),
		"root=/dev/ubda", "rw", "quiet", "con=null", "con0=null,fd:1", "con1=null",
		// Without gro the interface drops what the other machines send in one piece, and connections stand still.
		"vec0:transport=tap,ifname=" + m.name + ",depth=128,gro=1", "host=" + m.name, "init=/bin/bash", "--", "-c",
		`"mkdir /run/machine; tar -xf /dev/ubdb -C /run/machine; exec /run/machine/init.sh"`}
	m.process = exec.Command("/linux.uml", args...)
	m.process.Env = []string{"TMPDIR=/dev/shm", "PATH=/usr/bin:/bin"}
	m.process.Stdout, m.process.Stderr = console, console
	wd, err := os.Getwd()
	check(err)
	m.process.Dir = "/"
	m.process.SysProcAttr = &syscall.SysProcAttr{Chroot: wd, Cloneflags: syscall.CLONE_NEWPID}
	check(m.process.Start())
}

// connect waits until the machine is ready.
func (m *machine) connect() {
	m.await("is ready")
	socket := "ssh-" + m.name
	os.Remove(socket)
	m.connection = exec.Command("ssh", "-M", "-N", "-S", socket, "-o", "StrictHostKeyChecking=no", "-o",
		"UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "root@"+m.address)
	m.connection.Stderr = os.Stderr
	check(m.connection.Start())
	for deadline := time.Now().Add(bootTime); exec.Command("ssh", "-S", socket, "-O", "check", m.name).Run() != nil; {
		if time.Now().After(deadline) {
			check(errors.New("no connection to " + m.name))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// crash ends the machine as a power failure does.
func (m *machine) crash() {
	m.process.Process.Kill()
	m.process.Wait()
	m.connection.Process.Kill()
	m.connection.Wait()
}

// shutDown ends the machine as halt(8) does.
func (m *machine) shutDown() {
	m.run("kill -TERM 1") // which may end this connection first
	m.await("is down")
	m.crash()
}

// await waits until the console shows "machine NAME event".
func (m *machine) await(event string) {
	for deadline := time.Now().Add(bootTime); ; time.Sleep(time.Second) {
		said, err := os.ReadFile("console-" + m.name)
		check(err)
		if strings.Contains(string(said), "machine "+m.name+" "+event) {
			return
		}
		if time.Now().After(deadline) {
			check(fmt.Errorf("no %q from %s after %v: see console-%s", event, m.name, bootTime, m.name))
		}
	}
}

func (m *machine) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ssh", "-S", "ssh-"+m.name, m.name, script)
	cmd.WaitDelay = time.Second
	return cmd
}

// noEnd is the status of a script that takes too long.
const noEnd = -1

// run runs a script, and returns its output and exit status.
func (m *machine) run(script string) (output string, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := m.command(ctx, script)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		check(err)
	}
	if ctx.Err() != nil {
		return fmt.Sprintf("no end after %v: %s", longest, out), noEnd
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

// must runs a script that cannot fail.
func (m *machine) must(script string) string {
	out, status := m.run(script)
	if status != 0 {
		check(fmt.Errorf("%s: %s: status %d: %s", m.name, script, status, out))
	}
	return out
}

// A holder is a command that runs under a lock.
type holder struct {
	cmd         *exec.Cmd
	stdin       io.WriteCloser
	parent, pid string // process ids: flock's, and the command's
}

// inside is a command for holders: it says that it runs, and ends with its input.
const inside = `sh -c 'echo in $PPID $$; read x'`

// hold starts a script that runs inside, and returns when that runs.
func (m *machine) hold(script string) (*holder, error) {
	h := &holder{cmd: m.command(context.Background(), script)}
	h.stdin, _ = h.cmd.StdinPipe()
	out, err := h.cmd.StdoutPipe()
	check(err)
	h.cmd.Stderr = os.Stderr
	check(h.cmd.Start())
	in := make(chan error, 1)
	go func() {
		_, err := fmt.Fscanf(bufio.NewReader(out), "in %s %s\n", &h.parent, &h.pid)
		in <- err
	}()
	select {
	case err = <-in:
	case <-time.After(time.Minute):
		err = errors.New("it waited for a minute")
	}
	if err != nil {
		h.release()
		return nil, fmt.Errorf("%s: %s: %v", m.name, script, err)
	}
	return h, nil
}

// release ends the command.
func (h *holder) release() {
	h.stdin.Close()
	done := time.AfterFunc(longest, func() { h.cmd.Process.Kill() })
	defer done.Stop()
	h.cmd.Wait()
}
