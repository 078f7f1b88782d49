//go:build linux

// Bench measures flock-postgres beside psql with an advisory lock, at a server that it starts: a whole run, the time
// from one command to the next while many wait, where the two alternate, what many send who only wait, and how many
// have an answer in time who come at one instant.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	rounds = flag.Int("rounds", 5, "how often to measure each")
	only   = flag.Bool("instant", false, "measure only many that come at one instant")
)

// A locker is a program that runs a shell command under a lock.
type locker struct {
	name  string
	words func(command string) []string
}

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [-rounds N] FLOCK-POSTGRES")
		os.Exit(64)
	}
	program, err := filepath.Abs(flag.Arg(0))
	check(err)
	psql, err := server.Program("psql")
	check(err)
	s, err := server.Start()
	check(err)
	defer server.RemoveTemplate()
	defer s.Stop()
	schema, err := exec.Command(program, "--schema").Output()
	check(err)
	_, err = s.SQL(string(schema) +
		";UPDATE flock.server SET started = pg_postmaster_start_time()")
	check(err)
	if *only {
		instants(s, program)
		return
	}
	for name, value := range map[string]string{
		"PGHOST": s.Host, "PGPORT": s.Port, "PGDATABASE": "postgres", "PGUSER": "postgres",
		"PGCONNECT_TIMEOUT": "60", // of many that start at once
	} {
		os.Setenv(name, value)
	}
	lockers := []locker{
		{"flock-postgres", func(command string) []string { return []string{program, "bench", "-c", command} }},
		{"psql, pg_advisory_lock", func(command string) []string {
			return []string{psql, "-qAtX", "-c", "SELECT pg_advisory_lock(1)", "-c", `\! ` + command}
		}},
	}
	fmt.Printf("%-28s %-24s %10s %10s\n", "milliseconds", "", "median", "90 %")
	report("whole run", lockers, func(l locker) []time.Duration { return wholeRuns(l, 20) })
	for _, waiters := range []int{1, 8, 64} {
		report(fmt.Sprintf("hand-over, %d waiters", waiters), lockers, func(l locker) []time.Duration {
			return handOvers(s, l, waiters)
		})
	}
	fmt.Println()
	for _, waiters := range []int{1, 8, 64, 100} {
		fmt.Printf("messages in a second, %3d waiters %10.1f\n", waiters, messages(s, lockers[0], waiters))
	}
	fmt.Println()
	instants(s, program)
}

// hosts is how many come at one instant, as those of a fleet do by cron.
const hosts = 100

// instants prints how many of the hosts that come at one instant have an answer while the TTL lasts: that they have the
// lock, or that it is taken or cools down.
func instants(s *server.Server, program string) {
	for round := range *rounds {
		name := fmt.Sprint("instant", round)
		var all []*exec.Cmd
		for range hosts {
			cmd := prepare([]string{program, "-n", "-E", "0", "--cooldown", "60", name, "true"})
			cmd.Stderr = nil // of those who reach no answer
			cmd.Env = append(os.Environ(), "PGHOST="+s.Host, "PGPORT="+s.Port, "PGDATABASE=postgres", "PGUSER=postgres",
				"PGCONNECT_TIMEOUT=") // as it is by default
			all = append(all, cmd)
		}
		began, ended := time.Now(), make(chan bool)
		for _, cmd := range all {
			check(leasetest.StartMortal(cmd))
			go func() { ended <- cmd.Wait() == nil && time.Since(began) < 10*time.Second }()
		}
		answers := 0
		for range all {
			if <-ended {
				answers++
			}
		}
		last := time.Since(began)
		rows, err := s.SQL("SELECT count(*) FROM flock.name WHERE token > 0 AND name = '" + name + "'")
		check(err)
		fmt.Printf("%d hosts at one instant: %d have an answer within 10 s, the last one after %.1f s; it was run: %s\n",
			hosts, answers, last.Seconds(), rows[0])
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report measures all lockers in turn, and prints what they took.
func report(what string, lockers []locker, measure func(locker) []time.Duration) {
	times := map[string][]time.Duration{}
	for range *rounds {
		for _, l := range lockers {
			times[l.name] = append(times[l.name], measure(l)...)
		}
	}
	for _, l := range lockers {
		all := times[l.name]
		slices.Sort(all)
		fmt.Printf("%-28s %-24s %10.1f %10.1f\n", what, l.name,
			milliseconds(all[len(all)/2]), milliseconds(all[len(all)*9/10]))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// wholeRuns returns how long each of some runs takes.
func wholeRuns(l locker, n int) (list []time.Duration) {
	for range n {
		began := time.Now()
		check(start(l.words("true")).Wait())
		list = append(list, time.Since(began))
	}
	return list
}

// messages returns how many messages a holder and some waiters send in a second, while nothing happens.
func messages(s *server.Server, l locker, waiters int) float64 {
	p, err := server.NewProxy(s)
	check(err)
	defer p.Close()
	var all []*exec.Cmd
	for range waiters + 1 {
		cmd := prepare(l.words("sleep 600"))
		cmd.Env = append(os.Environ(), "PGHOST="+p.Host, "PGPORT="+p.Port)
		check(leasetest.StartMortal(cmd))
		all = append(all, cmd)
	}
	awaitWaiting(s, waiters)
	time.Sleep(5 * time.Second) // in which waiters find out that they are woken
	const long = 20 * time.Second
	before := p.Messages()
	time.Sleep(long)
	n := p.Messages() - before
	for _, cmd := range slices.Backward(all) {
		cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range all {
		cmd.Wait()
	}
	return float64(n) / long.Seconds()
}

// handOvers has one hold the lock and others wait, and returns the times from one command to the next.
func handOvers(s *server.Server, l locker, waiters int) (list []time.Duration) {
	dir, err := os.MkdirTemp("", "bench")
	check(err)
	defer os.RemoveAll(dir)
	note := "date +%s%N >>" + dir + "/times"
	all := []*exec.Cmd{start(l.words(": >" + dir + "/in; until [ -e " + dir + "/go ]; do sleep .01; done; " + note))}
	for _, err := os.Stat(dir + "/in"); err != nil; _, err = os.Stat(dir + "/in") {
		time.Sleep(10 * time.Millisecond)
	}
	for range waiters {
		all = append(all, start(l.words(note)))
	}
	awaitWaiting(s, waiters)
	time.Sleep(2 * time.Second) // in which waiters get ready to be woken, too
	check(os.WriteFile(dir+"/go", nil, 0o666))
	for _, cmd := range all {
		check(cmd.Wait())
	}
	text, err := os.ReadFile(dir + "/times")
	check(err)
	last := int64(0)
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.ParseInt(word, 10, 64)
		check(err)
		if last != 0 {
			list = append(list, time.Duration(n-last))
		}
		last = n
	}
	return list
}

// awaitWaiting waits until one holds the lock and so many wait.
func awaitWaiting(s *server.Server, waiters int) {
	const waiting = "SELECT (SELECT count(*) FROM flock.contender) + " +
		"(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
	for {
		rows, err := s.SQL(waiting)
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused) && refused.Code == "53300": // they have all connections
		case err != nil:
			check(err)
		case rows[0] == strconv.Itoa(waiters+1):
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func prepare(words []string) *exec.Cmd {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

func start(words []string) *exec.Cmd {
	cmd := prepare(words)
	check(leasetest.StartMortal(cmd))
	return cmd
}
