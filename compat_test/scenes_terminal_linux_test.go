package compat_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal has an interactive bash, to which a test types.
type terminal struct {
	t      *testing.T
	dir    string
	keys   *os.File
	shell  *exec.Cmd
	mu     sync.Mutex
	screen string // what nobody has expected yet
}

// openTerminal makes a pseudo-terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("needs a pseudo-terminal: ", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// newTerminal starts bash in a new directory. $options are those of the flocks there.
func newTerminal(t *testing.T, env []string, options string) *terminal {
	t.Helper()
	master, slave := openTerminal(t)
	defer slave.Close()
	c := &terminal{t: t, dir: t.TempDir(), keys: master,
		shell: exec.Command(bashPath, "--norc", "--noprofile", "--noediting", "-i")}
	c.shell.Dir, c.shell.Env = c.dir, append(env, "PS1=$ ", "options="+options, "HISTFILE=", "LC_ALL=C")
	c.shell.Stdin, c.shell.Stdout, c.shell.Stderr = slave, slave, slave
	c.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.shell.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.screen += strings.ReplaceAll(string(b[:n]), "\r", "")
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		killSession(c.shell.Process.Pid, c.dir)
		c.shell.Wait()
		master.Close()
	})
	c.enter("stty -echo")
	return c
}

func (c *terminal) press(keys string) { c.keys.WriteString(keys) }

// enter types a command when bash asks for one. What is typed before may be lost while bash prepares the terminal.
func (c *terminal) enter(line string) {
	c.expect(`(?m)^\$ $`)
	c.press(line + "\n")
}

// expect waits until the screen shows a pattern, and returns all up to its end.
func (c *terminal) expect(pattern string) (shown string) {
	c.t.Helper()
	look := regexp.MustCompile(pattern)
	c.wait("on the screen: "+pattern, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := look.FindStringIndex(c.screen)
		if at != nil {
			shown, c.screen = c.screen[:at[1]], c.screen[at[1]:]
		}
		return at != nil
	})
	return shown
}

// await waits for a file, removes it, and returns the number in it.
func (c *terminal) await(name string) (number int) {
	c.t.Helper()
	c.wait("the file "+name, func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, name))
		if err == nil {
			os.Remove(filepath.Join(c.dir, name))
		}
		number, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return number
}

// wait waits until something is so.
func (c *terminal) wait(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("in vain: %s\n%s\n%s", what, c.screen, processesOf(c.shell.Process.Pid, c.dir))
		}
	}
}

func (c *terminal) write(name, text string) {
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o666); err != nil {
		c.t.Error(err)
	}
}

// status expects the status of what bash has run last.
func (c *terminal) status(want int) {
	c.t.Helper()
	c.enter("echo status $?")
	if shown := c.expect(`(?m)^status \d+\n`); !strings.HasSuffix(shown, fmt.Sprintf("status %d\n", want)) {
		c.t.Errorf("not status %d: %s", want, shown)
	}
}

// script has "sh script" run this. In the place of @ its process number is written to the file "in".
func (c *terminal) script(text string) {
	c.write("script", strings.Replace(text, "@", "echo $$ >in_; mv in_ in", 1))
}

// counter is a script that counts a signal, until a line comes by a FIFO. A signal ends wait at once: two that come while
// a command runs count as one.
func counter(signal string) string {
	return `mkfifo lines; n=0; trap 'n=$((n + 1)); >caught' ` + signal + `; read line <lines & @; until wait; do :; done
sleep .1; echo $n times; exit 3`
}

// awaitCounter waits until the counter runs and its guard, if it has one, has left the session: until then the command
// may get a signal of the terminal once more from the guard.
func (c *terminal) awaitCounter() (pid int) {
	c.t.Helper()
	pid = c.await("in")
	c.wait("its guard has left the session", func() bool {
		session, _ := unix.Getsid(parentOf(pid))
		return statusLine(parentOf(pid), "Name") != "lock-guard" || session == parentOf(pid)
	})
	return pid
}

// sleeper is a command that sleeps, which awaitSleeper waits for.
const sleeper = "@; exec sleep 1000"

func (c *terminal) awaitSleeper() (pid int) {
	c.t.Helper()
	pid = c.await("in")
	c.wait("it sleeps", func() bool { return statusLine(pid, "Name") == "sleep" })
	return pid
}

func (c *terminal) awaitStopped(pid int) {
	c.t.Helper()
	c.wait("it is stopped", func() bool { return isInState(pid, "T") })
}

// terminalScenes are what a user does on a terminal. They are the same with the options.
var terminalScenes = map[string]func(c *terminal){
	"Ctrl-C ends a loop": func(c *terminal) {
		c.script(sleeper)
		c.enter(`for i in 1 2 3; do flock $options f sh script; done`)
		c.awaitSleeper()
		c.press("\x03")
		c.status(130)
	},
	"Ctrl-C ends a loop in a script": func(c *terminal) {
		c.script(sleeper)
		c.enter(`bash -c 'for i in 1 2 3; do flock $options f sh script; done; echo went on'`)
		c.awaitSleeper()
		c.press("\x03")
		c.status(130)
	},
	"a command that handles Ctrl-C": func(c *terminal) {
		c.script(counter("INT"))
		c.enter(`flock $options f sh script`)
		c.awaitCounter()
		c.press("\x03")
		c.await("caught")
		c.write("lines", "\n")
		c.expect(`1 times\n`)
	},
	"Ctrl-\\": func(c *terminal) {
		c.script(sleeper)
		c.enter(`ulimit -c 0; flock $options f sh script`)
		c.awaitSleeper()
		c.press("\x1c")
		c.status(131)
	},
	"Ctrl-Z and fg": func(c *terminal) {
		c.script(`@; read line; echo it read $line; exit 3`)
		c.enter(`flock $options f sh script`)
		command := c.await("in")
		c.press("\x1a")
		c.expect(`Stopped`)
		c.awaitStopped(command) // it could still read what is typed
		c.enter("flock -n f true; echo status $?")
		c.expect(`(?m)^status 1\n`)
		c.enter("fg")
		c.expect(`(?m)^flock .*\n`)
		c.press("this\n")
		c.expect(`(?m)^it read this\n`)
		c.status(3)
	},
	"a background job that reads": func(c *terminal) {
		c.script(`@; read line; echo it read $line; exit 3`)
		c.enter(`flock $options f sh script &`)
		c.await("in")
		c.enter("until jobs | grep Stopped; do sleep .01; done; fg") // bash may not know yet that it is stopped
		c.expect(`(?m)^flock .*\n`)
		c.press("this\n")
		c.expect(`(?m)^it read this\n`)
		c.status(3)
	},
	"a resized terminal": func(c *terminal) {
		c.script(counter("WINCH"))
		c.enter(`flock $options f sh script`)
		c.awaitCounter()
		unix.IoctlSetWinsize(int(c.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 90})
		c.await("caught")
		c.write("lines", "\n")
		c.expect(`1 times\n`)
		c.status(3)
	},
}

// guardScenes are those that need the options.
var guardScenes = map[string]func(c *terminal){
	"kill -INT to flock alone": func(c *terminal) {
		isOther := os.Getenv("FLOCK_UNDER_TEST") != ""
		if isOther || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			c.t.Skip("not every flock can tell who sends a signal")
		}
		c.script(counter("INT"))
		c.enter(`flock --limit 60 f sh script`)
		command := c.awaitCounter()
		unix.Kill(parentOf(parentOf(command)), unix.SIGINT)
		c.await("caught")
		c.press("\x03")
		c.await("caught")
		c.write("lines", "\n")
		c.expect(`2 times\n`)
	},
	"a limit": func(c *terminal) {
		c.enter("flock --limit .2 f sleep 1000")
		c.expect(`(?m)^flock: sleep exceeded its limit of 0.2 s; terminating it\n`)
		c.status(124)
	},
	"Ctrl-Z, and the limit": func(c *terminal) {
		c.script(sleeper)
		c.enter(`flock --limit 3 f sh script`)
		c.awaitSleeper()
		c.press("\x1a")
		c.expect(`Stopped`)
		c.expect(`flock: sh exceeded its limit of 3 s; terminating it\n`) // nobody has continued it
		c.press("\n")
		c.enter("flock -w 20 f true; echo status $?")
		c.expect(`(?m)^status 0\n`)
	},
	"Ctrl-Z, the limit, and a terminal that stops who writes": func(c *terminal) {
		c.script(sleeper)
		c.enter(`stty tostop; flock --limit 3 f sh script`)
		c.awaitSleeper()
		c.press("\x1a")
		c.expect(`Stopped`)
		c.enter("until flock -n f true; do sleep .01; done; echo status $?")
		c.expect(`flock: sh exceeded its limit of 3 s; terminating it\n`)
		c.expect(`(?m)^status 0\n`)
	},
	"Ctrl-Z, and a newer run": func(c *terminal) {
		c.script(sleeper)
		c.enter("export FLOCK_BACKEND=native; flock --replace f sh script 2>err")
		c.awaitSleeper()
		c.press("\x1a")
		c.expect(`Stopped`)
		c.enter("flock --replace f true; echo status $?; until grep . err; do sleep .01; done") // nobody has continued it
		c.expect(`(?m)^status 0\n(?s:.*)flock: f: replaced by a newer run\n`)
	},
	"a background job that reads, and the limit": func(c *terminal) {
		c.script(`@; read line; echo it read $line; exit 3`)
		c.enter(`flock --limit 2 f sh script &`)
		c.await("in")
		c.expect(`flock: sh exceeded its limit of 2 s; terminating it\n`)
		c.press("\n")
		c.enter("flock -w 20 f true; echo status $?")
		c.expect(`(?m)^status 0\n`)
	},
	"Ctrl-C to what is left": func(c *terminal) {
		c.script(`trap "" INT TERM; >up; @; exec sleep 1000`)
		c.enter(`flock --kill-children f sh -c 'sh script & until [ -e up ]; do sleep .01; done; exit 3'`)
		left := c.awaitSleeper()
		began := time.Now()
		c.wait("the guard knows that the command has ended", func() bool {
			guard := parentOf(left)
			return statusLine(guard, "Name") == "lock-guard" && len(descendants(guard)) == 1
		})
		c.press("\x03")
		c.expect(`(?m)^flock: process \d+ \(sleep 1000\) did not exit after SIGTERM and is killed\n`)
		if took := time.Since(began); took > 9*time.Second {
			c.t.Errorf("it took %v", took)
		}
		c.status(3)
	},
}

// TestTerminalOfItsOwn has flock lead the session, as in a container, and types at the moment when the process group of
// the command gets the terminal. Ctrl-C ends the command, and Ctrl-Z does not stop it for ever: no shell continues it.
func TestTerminalOfItsOwn(t *testing.T) {
	t.Parallel()
	needOurs(t)
	for _, c := range []struct {
		name, keys, command string
		status              int
	}{
		{"Ctrl-C", "\x03", "exec sleep 1000", 130},
		{"Ctrl-Z", "\x1a\n", "read line; exit 3", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for range 20 {
				master, slave := openTerminal(t)
				defer master.Close()
				flock := exec.Command(oursPath, "--limit", "20", "f", "sh", "-c", c.command)
				flock.Dir, flock.Stdin, flock.Stdout, flock.Stderr = dir, slave, slave, slave
				flock.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
				if err := flock.Start(); err != nil {
					t.Fatal(err)
				}
				slave.Close()
				hasGroup := func() bool {
					group, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPGRP)
					return err == nil && (group == 0 || group == flock.Process.Pid)
				}
				for end := time.Now().Add(20 * time.Second); hasGroup() && time.Now().Before(end); {
				}
				master.WriteString(c.keys)
				flock.Wait()
				if status := flock.ProcessState.ExitCode(); status != c.status {
					t.Fatal(flock.ProcessState)
				}
			}
		})
	}
}

// TestTerminal plays the scenes without and with the options that give flock a guard.
func TestTerminal(t *testing.T) {
	t.Parallel()
	runEachBackend(t, func(t *testing.T, dir string, env []string) {
		byDirectory := strings.HasSuffix(t.Name(), "directory")
		for name, scene := range terminalScenes {
			for _, options := range []string{"", "--limit 60", "--kill-children"} {
				if byDirectory && options != "" && !isLong {
					continue // a guard has the terminal, however the lock is had
				}
				t.Run(name+"/"+options, func(t *testing.T) {
					t.Parallel()
					scene(newTerminal(t, env, options))
				})
			}
		}
		for name, scene := range guardScenes {
			if byDirectory && !isLong {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				scene(newTerminal(t, env, ""))
			})
		}
	})
}
