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

// measureGuard times whole runs that end a command with all that it has started, beside those that do not: what is more
// is the start of the Go runtime, in flock and in its guard.
func measureGuard(all []locker, rounds int) {
	l := all[slices.IndexFunc(all, func(l locker) bool { return l.name == thisFlock })]
	options := []string{"", "--limit 60", "--kill-children", "--replace"}
	times := make([][]time.Duration, len(options))
	file, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	check(err)
	defer file.Close()
	for range rounds {
		for _, i := range rand.Perm(len(options)) {
			words := append(slices.Clone(l.run), "./true")
			words = slices.Insert(words, 1, strings.Fields(options[i])...)
			times[i] = append(times[i], timeRun(words, l.environ(), file))
		}
	}
	base := micros(median(times[0]))
	fmt.Print("\n| whole process, with a command | median, µs | more than without the option, µs |\n" +
		"|---|---:|---:|\n")
	for i, option := range options {
		m := micros(median(times[i]))
		fmt.Printf("| `%s` | %.0f | %.0f |\n", strings.TrimSpace(option+" LOCK true"), m, m-base)
	}
}
