//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// timeRuns times whole processes, from fork to wait. The lockers take turns. It returns the medians for the picture.
func timeRuns(all []locker, rounds int) (groups []group) {
	type series struct {
		title, short string
		words        func(l locker) []string
	}
	// words for those lockers that have all options of util-linux
	flocks := func(words string) func(l locker) []string {
		return func(l locker) []string {
			if l.noFork == nil {
				return nil
			}
			return append([]string{l.run[0]}, strings.Fields(words)...)
		}
	}
	for _, s := range []series{
		{"with a command (`LOCK true`)", "command",
			func(l locker) []string { return append(slices.Clone(l.run), "./true") }},
		{"with a command, no fork (`-F LOCK true`)", "-F",
			func(l locker) []string { return append(slices.Clone(l.noFork), "./true") }},
		{"with a limit (`-w 5 -o LOCK true`)", "-w 5 -o", flocks("-w 5 -o lock ./true")},
		{"long options (`--exclusive --timeout 5 --close LOCK true`)", "long options",
			flocks("--exclusive --timeout 5 --close lock ./true")},
		{"a descriptor number (`flock 9`)", "9", func(l locker) []string { return l.number }},
		{"unlocking a number (`flock -u 9`)", "-u 9", flocks("-u 9")},
	} {
		var who []locker
		for _, l := range all {
			if words := s.words(l); len(words) > 1 && words[0] != "./true" {
				who = append(who, l)
			}
		}
		times := make([][]time.Duration, len(who))
		file, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
		check(err)
		for range rounds {
			for _, i := range rand.Perm(len(who)) { // in random order: none always follows the slowest
				times[i] = append(times[i], timeRun(s.words(who[i]), who[i].environ(), file))
			}
		}
		file.Close()
		g := group{name: s.short}
		fmt.Printf("\n| whole process, %s | median, µs | beside util-linux |\n|---|---:|---:|\n", s.title)
		base := 0.0
		for i, l := range who {
			if l.name == reference {
				base = micros(median(times[i]))
			}
		}
		for i, l := range who {
			m := micros(median(times[i]))
			fmt.Printf("| %s | %.0f | %s |\n", l.name, m, ratio(m, base))
			if base > 0 {
				g.bars = append(g.bars, bar{l.name, m / base})
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// timeRun runs a command with file as descriptor 9 and returns how long it takes.
func timeRun(words, env []string, file *os.File) time.Duration {
	files := []uintptr{0, 1, 2}
	for range 6 {
		files = append(files, ^uintptr(0))
	}
	files = append(files, file.Fd())
	started := time.Now()
	pid, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{Env: env, Files: files})
	check(err)
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	took := time.Since(started)
	check(err)
	if status != 0 {
		check(fmt.Errorf("%q ended with status %d", words, status))
	}
	return took
}

func median(d []time.Duration) time.Duration { return percentile(d, 50) }

// percentile returns the shortest duration that is longer than p percent of them.
func percentile(d []time.Duration, p int) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)*p/100]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func ratio(x, base float64) string {
	if base == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", x/base)
}
