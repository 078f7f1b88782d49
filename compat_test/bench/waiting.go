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

// waits reports whether the locker waits in the kernel or by looking, with its
// command's output as it comes: GNU parallel keeps that back.
func (l locker) waits() bool {
	return l.run != nil && !strings.HasPrefix(l.name, "sem") && !strings.Contains(l.name, "(in sh)")
}

// start starts n runs of a command under the locker's lock, in a process group
// each, with out as standard output.
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

// holder starts a run that has the lock until it is killed, which is returned.
func holder(l locker) func() {
	r, w, err := os.Pipe()
	check(err)
	cmds := start(l, 1, w, "/bin/sh", "-c", "echo; exec sleep 1000")
	w.Close()
	_, err = r.Read(make([]byte, 1))
	check(err)
	r.Close()
	return func() { kill(cmds) }
}

// waiting tells what one waiter costs: memory, threads, wake-ups.
func waiting(all []locker) {
	fmt.Printf("\n| while one waits | resident, KiB | threads | wake-ups a second |\n|---|---:|---:|---:|\n")
	for _, l := range all {
		if !l.waits() {
			continue
		}
		free := holder(l)
		waiter := start(l, 1, nil, "./true")
		time.Sleep(2 * time.Second) // to settle: the end of a start cannot be seen
		const long = 5 * time.Second
		before := tree(waiter[0].Process.Pid)
		time.Sleep(long)
		after := tree(waiter[0].Process.Pid)
		fmt.Printf("| %s | %d | %d | %.1f |\n", l.name, after.resident, after.threads,
			float64(after.switches-before.switches)/long.Seconds())
		kill(waiter)
		free()
	}
}

// usage is what a process and its descendants use.
type usage struct {
	resident, threads, switches int
	running                     time.Duration // processor time
}

func tree(pid int) (u usage) {
	task := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, _ := os.ReadDir(task)
	for _, t := range threads {
		for line := range strings.Lines(read(task + "/" + t.Name() + "/status")) {
			name, value, _ := strings.Cut(line, ":")
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			switch name {
			case "VmRSS":
				u.resident = n
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				u.switches += n
			}
		}
		if fields := strings.Fields(read(task + "/" + t.Name() + "/schedstat")); len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0])
			u.running += time.Duration(n)
		}
		u.threads++
		for child := range strings.FieldsSeq(read(task + "/" + t.Name() + "/children")) {
			n, _ := strconv.Atoi(child)
			c := tree(n)
			u.resident += c.resident
			u.threads += c.threads
			u.switches += c.switches
			u.running += c.running
		}
	}
	return u
}

func running(cmds []*exec.Cmd) (sum time.Duration) {
	for _, cmd := range cmds {
		sum += tree(cmd.Process.Pid).running
	}
	return sum
}

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// settle waits until the processes do no more than waiting takes: until they
// have used hardly any processor time for a second.
func settle(cmds []*exec.Cmd) {
	for range 20 {
		before := running(cmds)
		time.Sleep(time.Second)
		if running(cmds)-before < 200*time.Millisecond {
			return
		}
	}
}

// idle measures the load that many waiters make.
func idle(all []locker) {
	const n, long = 512, 10 * time.Second
	fmt.Printf("\n| %d waiters | load, %% of one core |\n|---|---:|\n", n)
	for _, l := range all {
		if !l.flock {
			continue
		}
		free := holder(l)
		cmds := start(l, n, nil, "./true")
		settle(cmds)
		before, started := running(cmds), time.Now()
		time.Sleep(long)
		load := 100 * (running(cmds) - before).Seconds() / time.Since(started).Seconds()
		fmt.Printf("| %s | %.1f |\n", l.name, load)
		kill(cmds)
		free()
	}
}
