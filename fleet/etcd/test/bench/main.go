//go:build linux

// Bench measures flock-etcd beside etcdctl lock, over a cluster of three local members.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// A locker is a program under measurement.
type locker struct {
	title string
	words []string // before the name of the lock
	line  string   // prefix of the keys of a lock, with its name as %s
}

var (
	rounds  = flag.Int("rounds", 100, "how often to run uncontended")
	only    = flag.String("only", "", "measure this one alone: flock-etcd or etcdctl")
	members *cluster.Cluster
	dir     string
	names   int
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if members != nil {
			members.Stop()
		}
		os.RemoveAll(dir)
		os.Exit(1)
	}
}

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(),
			"usage: bench [options] FLOCK-ETCD\nThe members keep their data below TMPDIR.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ours, err := filepath.Abs(flag.Arg(0))
	check(err)
	etcdctl, err := cluster.Program(cluster.Etcdctl)
	check(err)
	dir, err = os.MkdirTemp("", "bench")
	check(err)
	members, err = cluster.Start(cluster.Options{})
	check(err)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		check(fmt.Errorf("%v", <-interrupted))
	}()
	var all []locker
	for _, l := range []locker{
		{"flock-etcd", []string{ours}, "/flock/%s/line/"},
		{"etcdctl lock", []string{etcdctl, "lock", "--"}, "%s/"},
	} {
		if *only == "" || strings.HasPrefix(l.title, *only) {
			all = append(all, l)
		}
	}
	fmt.Printf("Three members of etcd, data on %s; medians, and 90th percentiles.\n\n| | %s |\n|---|%s\n",
		filesystem(), titles(all), strings.Repeat("---:|", len(all)+2))
	row("whole process, `NAME true`, ms", all, measure(all, *rounds, uncontended))
	for _, c := range []struct{ waiters, rounds int }{{1, 40}, {8, 8}, {64, 6}, {200, 3}} {
		results := measure(all, c.rounds, func(l locker) []time.Duration { return newQueue(l, c.waiters).run() })
		row(fmt.Sprintf("hand-over, waiters: %d, ms", c.waiters), all, results)
	}
	row("members' processor with 200 waiters, ms in each second", all,
		measure(all, 1, func(l locker) []time.Duration { return waiting(l, 200) }))
	members.Stop()
	os.RemoveAll(dir)
}

func titles(all []locker) string {
	var list []string
	for _, l := range all {
		list = append(list, l.title)
	}
	return strings.Join(append(list, "median beside etcdctl lock", "90th percentile"), " | ")
}

// filesystem returns the type of the filesystem of the data.
func filesystem() string {
	out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	check(err)
	return strings.TrimSpace(string(out))
}

// measure lets the lockers take turns in random order.
func measure(all []locker, rounds int, once func(locker) []time.Duration) map[string][]time.Duration {
	results := map[string][]time.Duration{}
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			results[all[i].title] = append(results[all[i].title], once(all[i])...)
		}
	}
	return results
}

// percentile returns that of a list, in milliseconds.
func percentile(list []time.Duration, n int) float64 {
	slices.Sort(list)
	return float64(list[min(len(list)*n/100, len(list)-1)].Microseconds()) / 1000
}

func row(what string, all []locker, results map[string][]time.Duration) {
	fmt.Printf("| %s |", what)
	for _, l := range all {
		fmt.Printf(" %.1f, %.1f |", percentile(results[l.title], 50), percentile(results[l.title], 90))
	}
	if len(all) == 2 {
		for _, n := range []int{50, 90} {
			fmt.Printf(" %.2f |", percentile(results[all[0].title], n)/percentile(results[all[1].title], n))
		}
	}
	fmt.Println()
}

func newName() string {
	names++
	return fmt.Sprintf("bench%d", names)
}

func (l locker) command(name string, words ...string) *exec.Cmd {
	cmd := exec.Command(l.words[0], append(append(l.words[1:len(l.words):len(l.words)], name), words...)...)
	cmd.Env = append(os.Environ(), "ETCDCTL_ENDPOINTS="+strings.Join(members.Endpoints(), ","))
	cmd.Stderr = os.Stderr
	return cmd
}

// uncontended runs a command under a free lock.
func uncontended(l locker) []time.Duration {
	cmd := l.command(newName(), "true")
	began := time.Now()
	check(leasetest.StartMortal(cmd))
	check(cmd.Wait())
	return []time.Duration{time.Since(began)}
}

// A queue is a holder with waiters behind it.
type queue struct {
	release *os.File // ends the command of the holder, when it is closed
	entered *os.File // each waiter that has the lock writes a byte
	cmds    []*exec.Cmd
}

// newQueue returns when all of them stand in line.
func newQueue(l locker, waiters int) *queue {
	name := newName()
	fifo := filepath.Join(dir, name)
	check(syscall.Mkfifo(fifo, 0o600))
	holder := l.command(name, "sh", "-c", `read line <"$0" || :`, fifo)
	check(leasetest.StartMortal(holder))
	release, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the command runs
	check(err)
	r, w, err := os.Pipe()
	check(err)
	q := &queue{release, r, []*exec.Cmd{holder}}
	for range waiters {
		cmd := l.command(name, "echo")
		cmd.Stdout = w
		check(leasetest.StartMortal(cmd))
		q.cmds = append(q.cmds, cmd)
	}
	w.Close()
	prefix := fmt.Sprintf(l.line, name)
	for {
		r, err := members.Client().Get(context.Background(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		check(err)
		if r.Count == int64(waiters)+1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // nothing shows when the last one watches
	return q
}

// run lets one after the other have the lock, and returns the times between them.
func (q *queue) run() (gaps []time.Duration) {
	last := time.Now()
	q.release.Close()
	for range q.cmds[1:] {
		_, err := io.ReadFull(q.entered, make([]byte, 1))
		check(err)
		now := time.Now()
		gaps = append(gaps, now.Sub(last))
		last = now
	}
	q.entered.Close()
	for _, cmd := range q.cmds {
		cmd.Wait()
	}
	return gaps
}

// waiting returns how much of the processor the members use in a second while so many wait.
func waiting(l locker, waiters int) []time.Duration {
	const seconds = 30
	q := newQueue(l, waiters)
	before := processor()
	time.Sleep(seconds * time.Second)
	used := processor() - before
	q.run()
	return []time.Duration{used / seconds}
}

// processor returns how much of it all members have used.
func processor() time.Duration {
	sum, err := members.Metrics("process_cpu_seconds_total")
	check(err)
	return time.Duration(sum * float64(time.Second))
}
