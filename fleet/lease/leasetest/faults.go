//go:build linux

package leasetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// disturb does one thing of those that happen.
func (x *Torture) disturb() {
	switch n := x.Random.IntN(20); {
	case n < 11:
		x.disturbProcess()
	case n < 14:
		x.disturbConnections()
	case n == 14:
		x.backend.DisturbServer(x)
	case n == 15 && x.Random.IntN(4) == 0:
		x.crowd()
	}
}

// after does something up to a time later.
func (x *Torture) after(limit time.Duration, f func()) {
	d := time.Duration(x.Random.Int64N(int64(limit)))
	x.later.Go(func() {
		time.Sleep(d)
		f()
	})
}

func (x *Torture) disturbConnections() {
	c, which := x.backend.Connections(x.Random)
	if x.Random.IntN(2) == 0 {
		x.Count("fault: cut " + which)
		c.Cut()
	} else {
		x.Count("fault: a black hole for " + which)
		c.BlackHole()
	}
	x.after(2*x.backend.TTL, c.Restore)
}

// disturbProcess chooses a contender, and kills or stops it, its guard, or its command.
func (x *Torture) disturbProcess() {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.choose()
	if p == nil {
		return
	}
	pid, guards := p.Process.Pid, Children(p.Process.Pid)
	n := x.Random.IntN(9)
	if len(guards) != 1 && n > 2 {
		return
	}
	kill := func(what string, pid int) {
		x.live[p] = true
		x.counts["fault: kill "+what]++
		syscall.Kill(pid, syscall.SIGKILL)
	}
	switch n {
	case 0:
		kill(x.program, pid)
	case 1:
		x.stop(x.program, pid)
	case 2:
		x.counts["fault: terminate "+x.program]++
		syscall.Kill(pid, syscall.SIGTERM)
	case 3:
		kill("guard", guards[0])
	case 4:
		x.stop("guard", guards[0])
	case 5:
		x.stop(x.program+" and guard", pid, guards[0])
	case 6:
		x.stop("guard", guards[0])
		kill(x.program+", whose guard is stopped", pid)
	case 7:
		x.stop(x.program, pid)
		kill("guard, whose "+x.program+" is stopped", guards[0])
	case 8:
		x.killCommand(guards[0])
	}
}

// choose chooses a contender that is intact. There may be none. The caller has locked mu.
func (x *Torture) choose() *Child {
	var list, holders []*Child
	for p, killed := range x.live {
		if killed {
			continue
		}
		list = append(list, p)
		if guards := Children(p.Process.Pid); len(guards) == 1 && len(Children(guards[0])) > 0 {
			holders = append(holders, p)
		}
	}
	if len(holders) > 0 && x.Random.IntN(3) > 0 {
		list = holders // most of the others just wait
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *Child) int { return a.Process.Pid - b.Process.Pid })
	return list[x.Random.IntN(len(list))]
}

// stop stops processes, and continues them up to two TTL later. The caller has locked mu.
func (x *Torture) stop(what string, pids ...int) {
	x.counts["fault: stop "+what]++
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	x.after(2*x.backend.TTL, func() {
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	})
}

// killCommand kills a command with its descendants, which after its end would not be under the lock any more. The
// caller has locked mu.
func (x *Torture) killCommand(guard int) {
	for _, command := range Children(guard) {
		words := strings.Split(Read(fmt.Sprintf("/proc/%d/cmdline", command)), "\x00")
		if len(words) < 4 || words[1] != "torture" {
			continue
		}
		syscall.Kill(command, syscall.SIGSTOP)
		if !slices.Contains(strings.Fields(Read(words[2]+"/running")), strconv.Itoa(command)) {
			syscall.Kill(command, syscall.SIGCONT) // it may be about to have children
			return
		}
		for _, pid := range append(Children(guard), Children(command)...) {
			if pid != command {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		x.counts["fault: kill command"]++
		syscall.Kill(command, syscall.SIGKILL)
	}
}
