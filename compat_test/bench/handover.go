//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// handOver measures the time from one holder to the next, with so many waiters.
func handOver(all []locker) {
	fmt.Printf("\n| hand-over with waiters (median, µs) | 2 | 8 | 64 | 512 |\n|---|---:|---:|---:|---:|\n")
	total := "\n| lock, run, unlock, with waiters (per second) | 2 | 8 | 64 | 512 |\n|---|---:|---:|---:|---:|\n"
	for _, l := range all {
		if !l.waits() {
			continue
		}
		fmt.Printf("| %s ", l.name)
		total += "| " + l.name + " "
		for _, n := range []int{2, 8, 64, 512} {
			gaps, all := drain(l, n)
			fmt.Printf("| %.0f ", micros(median(gaps)))
			total += fmt.Sprintf("| %.0f ", float64(n)/all.Seconds())
		}
		fmt.Println("|")
		total += "|\n"
	}
	fmt.Print(total)
}

// drain lets n waiters through, and returns the times between them and in all.
func drain(l locker, n int) (gaps []time.Duration, all time.Duration) {
	free := holder(l)
	r, w, err := os.Pipe()
	check(err)
	cmds := start(l, n, w, "./stamp")
	w.Close()
	settle(cmds)
	free()
	started := time.Now()
	last := started
	for range n {
		_, err := r.Read(make([]byte, 1))
		check(err)
		now := time.Now()
		gaps = append(gaps, now.Sub(last))
		last = now
	}
	r.Close()
	for _, cmd := range cmds {
		cmd.Wait()
	}
	return gaps, last.Sub(started)
}

// releases measures how long one waiter takes to notice each way of losing the
// lock.
func releases(all []locker) {
	fmt.Printf("\n| hand-over to one waiter (median, µs) | command ends | killed with -9 | `flock -u` | descriptor closed |\n" +
		"|---|---:|---:|---:|---:|\n")
	for _, l := range all {
		if !l.flock {
			continue
		}
		fmt.Printf("| %s ", l.name)
		// The scripts write a byte when they have the lock, and after another
		// has been read give it up.
		for _, way := range []struct {
			script string
			killed bool
			rounds int
		}{
			{`exec "$0" lock sh -c 'echo; read line'`, false, 21},
			{`exec "$0" lock sh -c 'echo; read line'`, true, 21},
			{`exec 9>lock; "$0" 9; echo; read line; "$0" -u 9; read line`, false, 21},
			{`exec 9>lock; "$0" 9; echo; read line; exec 9>&-; read line`, false, 21},
		} {
			var times []time.Duration
			for range way.rounds {
				times = append(times, release(l, way.script, way.killed))
			}
			fmt.Printf("| %.0f ", micros(median(times)))
		}
		fmt.Println("|")
	}
}

func release(l locker, script string, killed bool) time.Duration {
	holder := exec.Command("/bin/sh", "-c", script, l.run[0])
	holder.Env = l.environ()
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := holder.StdinPipe()
	check(err)
	out, err := holder.StdoutPipe()
	check(err)
	check(holder.Start())
	out.Read(make([]byte, 1))

	r, w, err := os.Pipe()
	check(err)
	waiter := start(l, 1, w, "./stamp")
	w.Close()
	time.Sleep(150 * time.Millisecond) // to settle: the end of a start cannot be seen
	if killed {
		syscall.Kill(-holder.Process.Pid, syscall.SIGKILL)
	} else {
		fmt.Fprintln(in)
	}
	started := time.Now()
	_, err = r.Read(make([]byte, 1))
	check(err)
	took := time.Since(started)
	r.Close()
	in.Close()
	holder.Wait()
	waiter[0].Wait()
	return took
}

// order has many take the lock again and again, and compares how long they wait.
func order(all []locker) {
	const n, long = 64, 6 * time.Second
	fmt.Printf("\n| %d that come again and again | runs a second | wait, median, ms | longest, ms | longest / median |\n"+
		"|---|---:|---:|---:|---:|\n", n)
	for _, l := range all {
		if !l.flock {
			continue
		}
		var waits []time.Duration
		var mu sync.Mutex
		var group sync.WaitGroup
		started := time.Now()
		for range n {
			group.Go(func() {
				for time.Since(started) < long {
					before := time.Now()
					cmd := exec.Command(l.run[0], append(slices.Clone(l.run[1:]), "./true")...)
					cmd.Env = l.environ()
					check(cmd.Run())
					mu.Lock()
					waits = append(waits, time.Since(before))
					mu.Unlock()
				}
			})
		}
		group.Wait()
		perSecond := float64(len(waits)) / time.Since(started).Seconds()
		longest, middle := slices.Max(waits), median(waits)
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.1f |\n", l.name, perSecond, micros(middle)/1000, micros(longest)/1000,
			float64(longest)/float64(middle))
	}
}

// readers has many take a free lock shared at once and hold it until all are in,
// beside as many that do so one after the other.
func readers(all []locker) {
	fmt.Printf("\n| readers of a free lock | number | one after the other: all in, ms | processor, ms | " +
		"at once: all in, ms | processor, ms | ratios |\n|---|---:|---:|---:|---:|---:|---|\n")
	for _, l := range all {
		if !l.flock {
			continue
		}
		for _, n := range []int{100, 200} {
			turns, turnsCPU := enter(l, n, true)
			at, atCPU := enter(l, n, false)
			fmt.Printf("| %s | %d | %.0f | %.0f | %.0f | %.0f | %.2f, %.2f |\n", l.name, n, micros(turns)/1000,
				micros(turnsCPU)/1000, micros(at)/1000, micros(atCPU)/1000,
				float64(at)/float64(turns), float64(atCPU)/float64(turnsCPU))
		}
	}
}

func enter(l locker, n int, turns bool) (all, processor time.Duration) {
	r, w, err := os.Pipe()
	check(err)
	hold, end, err := os.Pipe()
	check(err)
	before, started := childTime(), time.Now()
	var cmds []*exec.Cmd
	in := func(n int) {
		for n > 0 {
			got, err := r.Read(make([]byte, n))
			check(err)
			n -= got
		}
	}
	for range n {
		cmd := exec.Command(l.run[0], "-s", l.run[1], "./stamp-read")
		cmd.Env, cmd.Stdin, cmd.Stdout = l.environ(), hold, w
		check(cmd.Start())
		cmds = append(cmds, cmd)
		if turns {
			in(1)
		}
	}
	if !turns {
		in(n)
	}
	all = time.Since(started)
	for _, cmd := range cmds {
		processor += tree(cmd.Process.Pid).running
	}
	end.Close()
	for _, cmd := range cmds {
		check(cmd.Wait())
	}
	for _, f := range []*os.File{r, w, hold} {
		f.Close()
	}
	return all, childTime() - before
}

// childTime is the processor time of all children that were waited for, and of
// those that these have waited for.
func childTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
