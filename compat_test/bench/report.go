//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// measureReport times runs with --report, which looks when the command has ended whether somebody keeps the lock:
// beside util-linux when nobody waits, and until the next one has the lock when somebody does.
func measureReport(all []locker, rounds int) {
	type run struct {
		locker
		options string
		alone   []time.Duration
		handed  []time.Duration
	}
	var runs []*run
	for _, l := range all {
		switch l.name {
		case thisFlock:
			runs = append(runs, &run{locker: l}, &run{locker: l, options: "--report 60 "})
		case reference:
			runs = append(runs, &run{locker: l})
		}
	}
	file, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	check(err)
	defer file.Close()
	for i := range rounds {
		for _, j := range rand.Perm(len(runs)) {
			r := runs[j]
			words := slices.Insert(append(slices.Clone(r.run), "./true"), 1, strings.Fields(r.options)...)
			r.alone = append(r.alone, timeRun(words, r.environ(), file))
			if i%10 == 0 {
				script := `exec "$0" ` + r.options + `lock sh -c 'echo; read line'`
				r.handed = append(r.handed, timeRelease(r.locker, script, false))
			}
		}
	}
	base := 0.0
	for _, r := range runs {
		if r.name == reference {
			base = micros(median(r.alone))
		}
	}
	fmt.Print("\n| with a command | nobody waits: whole process, median, µs | beside util-linux " +
		"| hand-over to one waiter, median, µs |\n|---|---:|---:|---:|\n")
	for _, r := range runs {
		m := micros(median(r.alone))
		fmt.Printf("| %s, `%sLOCK true` | %.0f | %s | %.0f |\n", r.name, r.options, m, ratio(m, base),
			micros(median(r.handed)))
	}
}
