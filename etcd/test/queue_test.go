//go:build linux

package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestQueue has the lock taken and its queue full, in all modes.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-x", "-s", "--permits=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			name, e, c := uniqueName(t), ours(t), sharedCluster(t)
			holder := "-x"
			if option != "-s" {
				holder = option
			}
			h := e.hold(t, holder, "--queue", "1", name) // nobody has it: it need not wait
			e.run(t, flockEtcd, option, "--queue", "0", "-E", "7", name, "echo", "ran").check(t, 7, "", "")
			first := e.queue(t, option, "--queue", "1", name)
			awaitLine(t, c, name, 2)
			e.run(t, flockEtcd, option, "--queue", "1", "-E", "8", "--verbose", name, "echo", "ran").
				check(t, 8, "", "flock-etcd: failed to get lock\n")
			e.run(t, flockEtcd, option, "--queue", "2", "-w", "0.5", "-E", "9", name, "echo", "ran").check(t, 9, "", "")
			second := e.queue(t, option, "--queue", "2", name)
			awaitLine(t, c, name, 3)
			h.release(t)
			awaitOutput(t, first.process)
			if option == "-s" {
				awaitOutput(t, second.process)
			}
			first.release(t)
			awaitOutput(t, second.process)
			second.release(t)
		})
	}
}

// TestQueueInCooldown has one wait for the end of a cooldown, which counts.
func TestQueueInCooldown(t *testing.T) {
	t.Parallel()
	name, e, c := uniqueName(t), ours(t), sharedCluster(t)
	e.run(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "true").check(t, 0, "", "")
	began := time.Now()
	w := e.start(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "echo", "in")
	await(t, "one in the line before the cooldown", func() bool {
		r, err := c.Client().Get(t.Context(), "/flock/"+name+"/cooldown/", clientv3.WithPrefix())
		return err == nil && len(r.Kvs) == 2 // the cooldown is the other one
	})
	if p := e.run(t, flockEtcd, "--holders", name); p.status != 1 || !strings.Contains(p.out.String(), "exclusive (waiting)") {
		t.Errorf("--holders: %d %s", p.status, &p.out)
	}
	e.run(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "echo", "ran").check(t, 1, "", "")
	w.wait(t).check(t, 0, "in\n", "")
	if d := w.at.Sub(began); d < 4*time.Second {
		t.Errorf("the cooldown of six seconds ended after %v", d)
	}
}

// TestQueuePlaceOfTheDead kills one who waits. Its place is free when its lease has ended.
func TestQueuePlaceOfTheDead(t *testing.T) {
	t.Parallel()
	name, c := uniqueName(t), sharedCluster(t)
	e := ours(t, "FLOCK_ETCD_TTL=2")
	h := ours(t).hold(t, name)
	first := e.queue(t, "--queue", "1", name)
	awaitLine(t, c, name, 2)
	first.Process.Kill()
	await(t, "a place in the queue", func() bool {
		return e.run(t, flockEtcd, "--queue", "1", "-w", "0.1", "-E", "7", "--verbose", name, "true").err.String() ==
			"flock-etcd: timeout while waiting to get lock\n"
	})
	h.release(t)
}

// TestQueueOfMany has many come at random while some of them are killed, and watches how many wait. Of those who ask for a
// permit at the same moment there may be more. A refused one can rely on it that a command begins after its request.
func TestQueueOfMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode           string
		permits, queue int
		kills          bool
	}{{"-x", 1, 1, false}, {"-x", 1, 3, true}, {"--permits=2", 2, 1, false}, {"--permits=3", 3, 2, true}} {
		t.Run(fmt.Sprint(c.mode, " ", c.queue), func(t *testing.T) {
			t.Parallel()
			name, members := uniqueName(t), sharedCluster(t)
			e := ours(t)
			if c.kills {
				e = ours(t, "FLOCK_ETCD_TTL=2") // the places of those that are killed stay for that long
			}
			limit := time.Second
			if c.kills {
				limit += 3 * time.Second
			}
			began, watched := lateness(), make(chan struct{})
			most, tooMany := 0, time.Duration(0)
			end := "/flock/" + name + "/line/end"
			watch := members.Client().Watch(t.Context(), "/flock/"+name+"/line/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
			<-watch
			go func() {
				defer close(watched)
				line, since := map[string]*mvccpb.KeyValue{}, time.Now() // since when not too many wait
				for w := range watch {
					for _, event := range w.Events {
						if line[string(event.Kv.Key)] = event.Kv; event.Type == clientv3.EventTypeDelete {
							delete(line, string(event.Kv.Key))
						}
						waiting := max(len(line)-c.permits, 0)
						if most = max(most, waiting); waiting <= c.queue {
							since = time.Now()
						}
						if tooMany = max(tooMany, time.Since(since)); string(event.Kv.Key) == end {
							return
						}
					}
				}
			}()
			log := t.TempDir() + "/began"
			var all []*process
			var came []time.Time
			for range howMany(t, 100) {
				came = append(came, time.Now())
				p := e.start(t, flockEtcd, c.mode, "--queue", fmt.Sprint(c.queue), "-E", "7", name, "sh", "-c", `date +%s%N >>"$0"; sleep 0.1`, log)
				all = append(all, p)
				time.Sleep(rand.N(60 * time.Millisecond))
				if c.kills && rand.N(10) == 0 {
					all[rand.N(len(all))].Process.Kill()
				}
			}
			refused, entered := 0, 0
			var last time.Time // when the last of those came who were refused
			for i, p := range all {
				switch p.wait(t); {
				case p.status == 7:
					refused++
					last = came[i]
				case p.status == 0:
					entered++
				case p.status == 75 && c.kills && strings.Contains(p.err.String(), "not kept alive in time"):
					t.Log("on a machine that is late: ", &p.err) // as if it had been killed
				case p.signal != syscall.SIGKILL:
					t.Errorf("status %d: %s", p.status, &p.err)
				}
			}
			if _, err := members.Client().Put(t.Context(), end, ""); err != nil {
				t.Fatal(err)
			}
			defer members.Client().Delete(t.Context(), end)
			<-watched
			t.Logf("%d came, %d had the lock, %d were refused; at most %d waited, and too many for %v", len(all), entered, refused, most, tooMany)
			if c.mode == "-x" && most > c.queue {
				t.Errorf("%d waited", most)
			}
			if late := lateness() - began; tooMany > limit+late {
				t.Errorf("too many waited for %v, on a machine that was late by %v", tooMany, late)
			}
			if entered == 0 || refused == 0 {
				t.Error("nobody had it, or nobody was refused")
			}
			words := strings.Fields(read(log))
			if n, _ := strconv.ParseInt(words[len(words)-1], 10, 64); !c.kills && time.Unix(0, n).Before(last) {
				t.Errorf("no command has begun after the last request, which was refused")
			}
		})
	}
}

// TestPermitsBesideOthers has some take permits of which there are enough for all, while others come who would not wait, or
// not all of them. Those who have just come are in nobody's way.
func TestPermitsBesideOthers(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-n", "--queue=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			e, name := ours(t), uniqueName(t)
			var all []*process
			for range howMany(t, 15) {
				all = append(all, e.start(t, flockEtcd, "--permits=100", name, "sleep", "1"),
					e.start(t, flockEtcd, "--permits=100", option, name, "true"))
			}
			for _, p := range all {
				p.wait(t).check(t, 0, "", "")
			}
		})
	}
}

// TestReport reads who has the lock.
func TestReport(t *testing.T) {
	t.Parallel()
	name, e, c := uniqueName(t), ours(t), sharedCluster(t)
	host, _ := os.Hostname()
	held := func(h *holding, state, more string) string {
		return fmt.Sprintf(`flock-etcd: %s held by process %d of \S+ on %s, running for \d+ s%s\n`, state, h.Process.Pid, regexp.QuoteMeta(host), more)
	}
	check := func(p *process, status int, text string) {
		t.Helper()
		if p.wait(t); p.status != status || !regexp.MustCompile("^"+text+"$").MatchString(p.err.String()) {
			t.Errorf("%q: status %d, expected %d; %s; expected %s", p.Args, p.status, status, &p.err, text)
		}
	}
	check(e.run(t, flockEtcd, "--report", "0", name, "true"), 0, "") // nobody has it
	h := e.hold(t, "-s", name)
	check(e.run(t, flockEtcd, "--report", "0", "-n", name, "true"), 1, held(h, name+" is", ""))
	h2 := e.hold(t, "-s", name)
	check(e.run(t, flockEtcd, "--report", "30", "-w", "3", "--verbose", name, "true"), 1,
		held(h, name+" is", ", and 1 more")+"flock-etcd: timeout while waiting to get lock\n")
	h2.release(t)
	w := e.queue(t, "--report", "0.2", "--queue", "1", name)
	awaitLine(t, c, name, 2)
	check(e.run(t, flockEtcd, "--report", "9", "--queue", "1", name, "true"), 1, held(h, name+" is", "; its queue is full"))
	await(t, "the report", func() bool { return w.err.String() != "" })
	h.release(t)
	awaitOutput(t, w.process)
	w.input.Close()
	check(w.process, 3, held(h, "waiting for "+name+",", ""))
	e.run(t, flockEtcd, "--cooldown", "30", name, "true").check(t, 0, "", "")
	check(e.run(t, flockEtcd, "--cooldown", "30", "--report", "0", "-n", name, "true"), 1, "flock-etcd: "+name+" is in its cooldown until [-0-9: +]+\n")
	silent := reach("127.0.0.1:1", "ETCDCTL_DIAL_TIMEOUT=1s").run(t, flockEtcd, "--report", "0", name, "true")
	if silent.status != 75 || strings.Count(silent.err.String(), "\n") != 1 {
		t.Errorf("status %d: %s", silent.status, &silent.err)
	}
}
