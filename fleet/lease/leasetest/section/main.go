//go:build linux

// Section is what the tests run under a lock. It finds out by a lock of the kernel whether it is alone.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	switch os.Args[1] {
	case "family":
		family(os.Args[2])
	case "alone":
		alone(os.Args[2])
	case "torture":
		torture(os.Args[2], os.Args[3], os.Args[4])
	case "root": // it is a set-user-id program
		check(syscall.Setuid(0))
		ignoreSignals()
		fmt.Println(os.Getpid())
		time.Sleep(3 * time.Minute)
	case "fork": // a child that starts another one and ends
		startChild(os.Args[2], "stay")
	case "stay":
		ignoreSignals()
		note(os.Args[2], "ready", fmt.Sprintln(os.Getpid()))
		time.AfterFunc(3*time.Minute, func() { os.Exit(0) }) // much longer than any test waits for its death
		if n, _ := release.Read(make([]byte, 1)); n == 0 {
			select {} // what has started it is dead
		}
	}
}

func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
}

// note appends to a file.
func note(dir, name, text string) {
	f, err := os.OpenFile(dir+"/"+name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	check(err)
	_, err = f.WriteString(text)
	check(err)
	f.Close()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// lock takes a lock of the kernel for this process and the children that it starts. It reports whether it is free.
func lock(path string, how int) (*os.File, bool) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	check(err)
	return f, syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) == nil
}

// startChild starts this program anew, with the kernel lock. It ends when it reads a byte.
func startChild(dir, word string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", word, dir)
	cmd.ExtraFiles = []*os.File{held, release}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: word == "fork"}
	check(cmd.Start())
	if word == "fork" {
		check(cmd.Wait())
	}
	return cmd
}

var held, release = os.NewFile(3, "lock"), os.NewFile(4, "pipe")

// family runs with children that no signal but SIGKILL ends: one in the process group, and one in another session that
// nobody waits for. All have the kernel lock.
func family(dir string) {
	ignoreSignals()
	var ok bool
	held, ok = lock(dir+"/lock", syscall.LOCK_EX)
	if !ok {
		note(dir, "violations", "the family was not alone\n")
	}
	startChildren(dir)
	note(dir, "ready", fmt.Sprintln(os.Getpid()))
	time.Sleep(3 * time.Minute)
}

// alone notes when it runs, and whether nobody has the kernel lock.
func alone(dir string) {
	now := time.Now().UnixNano()
	if _, ok := lock(dir+"/lock", syscall.LOCK_EX); !ok {
		note(dir, "violations", "the next one was not alone\n")
	}
	note(dir, "entered", strconv.FormatInt(now, 10))
}

// startChildren starts two children, and returns what ends them.
func startChildren(dir string) *os.File {
	r, w, err := os.Pipe()
	check(err)
	release = r
	startChild(dir, "stay")
	startChild(dir, "fork")
	return w
}

// isExclusive reports whether a mode is that of one who has the lock alone, with a cooldown or without.
func isExclusive(mode string) bool { return mode == "exclusive" || mode == "cooldown" }

// torture is one critical section. The permits of a lock are counted by files.
func torture(dir, mode, permits string) {
	enter(dir, mode, permits)
	note(dir, "events", fmt.Sprintf("%d enter %s %d\n", time.Now().UnixNano(), mode, os.Getpid()))
	var children *os.File
	switch rand.N(4) {
	case 0:
		// They have the lock, too, so they must be dead before the next one comes. What lives after the end of a
		// command in good time would be nobody's fault, so this process does not end by a signal that is passed on to
		// it.
		ignoreSignals()
		children = startChildren(dir)
	case 1:
		ignoreSignals()
	}
	note(dir, "running", fmt.Sprintln(os.Getpid()))
	long := 5 * time.Millisecond
	switch rand.N(12) {
	case 0:
		long = 4 * time.Second // longer than a lease
	case 1, 2:
		long = 300 * time.Millisecond
	}
	time.Sleep(rand.N(long))
	if now := lastToken(dir); isExclusive(mode) && strconv.FormatInt(now, 10) != os.Getenv("FLOCK_TOKEN") {
		note(dir, "violations", fmt.Sprintf("token %s was overtaken by %d\n", os.Getenv("FLOCK_TOKEN"), now))
	}
	note(dir, "events", fmt.Sprintf("%d leave %s %d\n", time.Now().UnixNano(), mode, os.Getpid()))
	for _, f := range []*os.File{held, extra} {
		if f != nil {
			syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		}
	}
	if children != nil {
		children.WriteString("..")
	}
}

var extra *os.File // the lock of a permit

// enter notes a violation unless this process is alone.
func enter(dir, mode, permits string) {
	ok := false
	switch mode {
	case "exclusive", "cooldown":
		held, ok = lock(dir+"/lock", syscall.LOCK_EX)
	case "shared":
		held, ok = lock(dir+"/lock", syscall.LOCK_SH)
	case "permit":
		held, ok = lock(dir+"/lock", syscall.LOCK_SH)
		n, _ := strconv.Atoi(permits)
		got := false
		// A permit that was taken can become free while this looks at the next one, so look again, a few times.
		for i := 0; !got && i < 5*n; i++ {
			extra, got = lock(dir+"/permit"+strconv.Itoa(i%n), syscall.LOCK_EX)
		}
		ok = ok && got
	}
	if !ok {
		note(dir, "violations", fmt.Sprintf("%s process %d, %s: not alone\n%s",
			time.Now().Format(time.StampMicro), os.Getpid(), mode, holders(dir)))
	}
	switch token := os.Getenv("FLOCK_TOKEN"); {
	case isExclusive(mode):
		now, err := strconv.ParseInt(token, 10, 64)
		if last := lastToken(dir); err != nil || now <= last {
			note(dir, "violations", fmt.Sprintf("token '%s' after %d\n", token, last))
		}
		note(dir, "tokens", token+"\n")
	case token != "":
		note(dir, "violations", "a "+mode+" holder has a token\n")
	}
}

// holders describes the processes that run for a directory.
func holders(dir string) string {
	out, _ := exec.Command("sh", "-c",
		`ps -eo pid,ppid,pgid,stat,lstart,args | grep -F "$0" | grep -v grep`, dir).Output()
	return string(out)
}

func lastToken(dir string) (last int64) {
	text, _ := os.ReadFile(dir + "/tokens")
	words := strings.Fields(string(text))
	if len(words) > 0 {
		last, _ = strconv.ParseInt(words[len(words)-1], 10, 64)
	}
	return last
}
