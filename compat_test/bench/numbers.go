//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// besideProcesses is how many processes there are while shells lock by number: the directory lock looks into all of
// them.
const besideProcesses = 110

// measureNumbers counts the turns of shells that lock a number and end without -u, which is what most scripts do.
func measureNumbers(all []locker) {
	for n := len(processIDs()); n < besideProcesses; n++ {
		c := exec.Command("/bin/sleep", "3600")
		check(c.Start())
		defer c.Wait()
		defer c.Process.Kill()
	}
	fmt.Printf("\n| `(flock 9; ...) 9>lock` in loops, beside %d processes: turns a second "+
		"| 1 shell | of util-linux | 10 shells | of util-linux |\n|---|---:|---:|---:|---:|\n", len(processIDs()))
	ours := all[slices.IndexFunc(all, func(l locker) bool { return l.name == directory })]
	i := slices.IndexFunc(all, func(l locker) bool { return l.name == reference })
	if i < 0 {
		return
	}
	row := "| " + directory + " "
	referenceRow := "| " + reference + " "
	for _, shells := range []int{1, 10} {
		var theirs, its []float64
		for range 5 { // in turns, because machines are noisy
			theirs = append(theirs, countTurns(all[i], shells))
			its = append(its, countTurns(ours, shells))
		}
		slices.Sort(theirs)
		slices.Sort(its)
		row += fmt.Sprintf("| %.0f | %.3f ", its[2], its[2]/theirs[2])
		referenceRow += fmt.Sprintf("| %.0f | ", theirs[2])
	}
	fmt.Println(referenceRow + "|\n" + row + "|")
}

// countTurns returns how many turns a second shells make in two seconds.
func countTurns(l locker, shells int) float64 {
	const long = 2 * time.Second
	const script = `while [ ! -e stop ]; do ("$0" 9; echo >>turns) 9>lock; done`
	os.Remove("turns")
	os.Remove("stop")
	var cmds []*exec.Cmd
	for range shells {
		c := exec.Command("/bin/sh", "-c", script, l.number[0])
		c.Env = l.environ()
		check(c.Start())
		cmds = append(cmds, c)
	}
	time.Sleep(long)
	turns, err := os.ReadFile("turns")
	check(os.WriteFile("stop", nil, 0o666))
	for _, c := range cmds {
		c.Wait()
	}
	check(os.Remove("stop"))
	check(err)
	return float64(len(turns)) / long.Seconds()
}

// processIDs returns the names in /proc that are ids of processes.
func processIDs() (ids []string) {
	entries, err := os.ReadDir("/proc")
	check(err)
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			ids = append(ids, e.Name())
		}
	}
	return ids
}
