//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// waits reports whether the locker can wait for a lock, and passes the output of
// its command on at once. GNU parallel delays the output.
func (l locker) waits() bool {
	return l.run != nil && !strings.HasPrefix(l.name, "sem") && !strings.Contains(l.name, "(in sh)")
}

// start starts n runs of a command under the locker's lock, each in a process group of its own, with out as standard
// output.
func start(l locker, n int, out *os.File, command ...string) (cmds []*exec.Cmd) {
	for range n {
		cmd := exec.Command(l.run[0], append(l.run[1:], command...)...)
		cmd.Env = l.environ()
		cmd.Stdout = out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		check(cmd.Start())
		cmds = append(cmds, cmd)
	}
	return cmds
}

func kill(cmds []*exec.Cmd) {
	for _, cmd := range cmds {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
}

// startHolder starts a run that holds the lock, and returns the function that ends its command.
func startHolder(l locker) func() {
	r, w, err := os.Pipe()
	check(err)
	cmds := start(l, 1, w, "/bin/sh", "-c", "echo $$; exec sleep 1000")
	w.Close()
	command := 0
	_, err = fmt.Fscanln(r, &command)
	check(err)
	r.Close()
	return func() {
		check(syscall.Kill(command, syscall.SIGKILL))
		cmds[0].Wait()
	}
}

// measureWaiting prints what one waiter costs: memory, threads, wake-ups.
func measureWaiting(all []locker) {
	fmt.Printf("\n| while one waits | resident, KiB | threads | wake-ups a second |\n|---|---:|---:|---:|\n")
	for _, l := range all {
		if !l.waits() {
			continue
		}
		release := startHolder(l)
		waiter := start(l, 1, nil, "./true")
		time.Sleep(2 * time.Second) // nothing shows when it has started to wait
		const long = 5 * time.Second
		before := treeUsage(waiter[0].Process.Pid)
		time.Sleep(long)
		after := treeUsage(waiter[0].Process.Pid)
		fmt.Printf("| %s | %d | %d | %.1f |\n", l.name, after.resident, after.threads,
			float64(after.switches-before.switches)/long.Seconds())
		kill(waiter)
		release()
	}
}

// usage is what a process and its descendants use.
type usage struct {
	resident, threads, switches int
	running                     time.Duration // processor time
}

// treeUsage returns the usage of a process and its descendants.
func treeUsage(pid int) (u usage) {
	task := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, _ := os.ReadDir(task)
	for _, t := range threads {
		for line := range strings.Lines(readFile(task + "/" + t.Name() + "/status")) {
			name, value, _ := strings.Cut(line, ":")
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			switch name {
			case "VmRSS":
				u.resident = n
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				u.switches += n
			}
		}
		if fields := strings.Fields(readFile(task + "/" + t.Name() + "/schedstat")); len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0])
			u.running += time.Duration(n)
		}
		u.threads++
		for child := range strings.FieldsSeq(readFile(task + "/" + t.Name() + "/children")) {
			n, _ := strconv.Atoi(child)
			c := treeUsage(n)
			u.resident += c.resident
			u.threads += c.threads
			u.switches += c.switches
			u.running += c.running
		}
	}
	return u
}

// processorTime returns the processor time of all commands and their descendants.
func processorTime(cmds []*exec.Cmd) (sum time.Duration) {
	for _, cmd := range cmds {
		sum += treeUsage(cmd.Process.Pid).running
	}
	return sum
}

// readFile returns the text of a file, or "" if it cannot be read.
func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// waitUntilIdle waits until the commands have used hardly any processor time for
// a second, because all of them wait for the lock.
func waitUntilIdle(cmds []*exec.Cmd) {
	for range 20 {
		before := processorTime(cmds)
		time.Sleep(time.Second)
		if processorTime(cmds)-before < 200*time.Millisecond {
			return
		}
	}
}

// measureLoad measures the processor load of many waiters.
func measureLoad(all []locker) {
	const n, long = 512, 10 * time.Second
	fmt.Printf("\n| %d waiters | load, %% of one core |\n|---|---:|\n", n)
	for _, l := range all {
		if !l.flock {
			continue
		}
		release := startHolder(l)
		cmds := start(l, n, nil, "./true")
		waitUntilIdle(cmds)
		before, started := processorTime(cmds), time.Now()
		time.Sleep(long)
		load := 100 * (processorTime(cmds) - before).Seconds() / time.Since(started).Seconds()
		fmt.Printf("| %s | %.1f |\n", l.name, load)
		kill(cmds)
		release()
	}
}
