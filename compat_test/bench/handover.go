//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// measureHandOver measures the time from one holder to the next, with 2 to 400 waiters.
func measureHandOver(all []locker) {
	fmt.Printf("\n| hand-over with waiters, µs: median, worst percent | 2 | 8 | 64 | 400 |\n" +
		"|---|---:|---:|---:|---:|\n")
	total := "\n| lock, run, unlock, with waiters (per second) | 2 | 8 | 64 | 400 |\n|---|---:|---:|---:|---:|\n"
	for _, l := range all {
		if !l.waits() {
			continue
		}
		fmt.Printf("| %s ", l.name)
		total += "| " + l.name + " "
		for _, n := range []int{2, 8, 64, 400} {
			var gaps []time.Duration
			var sum time.Duration
			for len(gaps) < 200 { // with few waiters, several times
				g, all := drain(l, n)
				gaps, sum = append(gaps, g...), sum+all
			}
			fmt.Printf("| %.0f, %.0f ", micros(median(gaps)), micros(percentile(gaps, 99)))
			total += fmt.Sprintf("| %.0f ", float64(len(gaps))/sum.Seconds())
		}
		fmt.Println("|")
		total += "|\n"
	}
	fmt.Print(total)
}

// drain releases the lock to n waiters, and returns the time from one to the next, and the time until all have had it.
func drain(l locker, n int) (gaps []time.Duration, all time.Duration) {
	release := startHolder(l)
	r, w, err := os.Pipe()
	check(err)
	cmds := start(l, n, w, "./stamp")
	w.Close()
	waitUntilIdle(cmds)
	release()
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

// measureReleases measures how long one waiter takes to get the lock after each way to release it.
func measureReleases(all []locker) {
	fmt.Printf("\n| hand-over to one waiter (median, µs) | command ends | killed with -9 | `flock -u` " +
		"| descriptor closed |\n|---|---:|---:|---:|---:|\n")
	for _, l := range all {
		if !l.flock {
			continue
		}
		fmt.Printf("| %s ", l.name)
		// The scripts write a byte when they have the lock, and release it when they
		// have read a byte.
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
				times = append(times, timeRelease(l, way.script, way.killed))
			}
			fmt.Printf("| %.0f ", micros(median(times)))
		}
		fmt.Println("|")
	}
}

// timeRelease returns the time from the release of the lock by script to the next holder.
func timeRelease(l locker, script string, killed bool) time.Duration {
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
	time.Sleep(150 * time.Millisecond) // nothing shows when it has started to wait
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

// measureFairness runs processes that take the lock again and again, and compares how long they wait.
func measureFairness(all []locker) {
	measureLoops(all, 8)
	measureLoops(all, 64)
	measureLoops(all, 64, "-s")
}

func measureLoops(all []locker, n int, options ...string) {
	const long = 6 * time.Second
	title := strconv.Itoa(n) + " that come again and again"
	if len(options) > 0 {
		title += " (`" + strings.Join(options, " ") + "`)"
	}
	fmt.Printf("\n| %s | runs a second | wait, median, ms | longest, ms | longest / median |\n"+
		"|---|---:|---:|---:|---:|\n", title)
	for _, l := range all {
		if !l.flock {
			continue
		}
		words := append(slices.Insert(slices.Clone(l.run), 1, options...), "./true")
		var waits []time.Duration
		var mu sync.Mutex
		var group sync.WaitGroup
		started := time.Now()
		for range n {
			group.Go(func() {
				for time.Since(started) < long {
					before := time.Now()
					cmd := exec.Command(words[0], words[1:]...)
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

// measureReaders measures how long many readers take to get a free lock and hold
// it together: started at once, and started one after the other.
func measureReaders(all []locker) {
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

// enter starts n readers that hold the lock until all have it. With turns, each starts after the one before it has the
// lock. It returns the time until all have it, and the processor time.
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
		processor += treeUsage(cmd.Process.Pid).running
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

// childTime returns the processor time of all descendants that have ended and were waited for.
func childTime() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
