//go:build linux

package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/lease/leasetest"
)

// TestQueue has the lock taken and its queue full, in all modes.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-x", "-s", "--permits=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			name, e, c := leasetest.LockName(t), ours(t), sharedCluster(t)
			holder := "-x"
			if option != "-s" {
				holder = option
			}
			h := e.Hold(t, flockEtcd, holder, "--queue", "1", name) // nobody has it: it need not wait
			e.Run(t, flockEtcd, option, "--queue", "0", "-E", "7", name, "echo", "ran").Check(t, 7, "", "")
			first := e.Queue(t, flockEtcd, option, "--queue", "1", name)
			awaitLine(t, c, name, 2)
			e.Run(t, flockEtcd, option, "--queue", "1", "-E", "8", "--verbose", name, "echo", "ran").
				Check(t, 8, "", "flock-etcd: failed to get lock\n")
			e.Run(t, flockEtcd, option, "--queue", "2", "-w", "5", "-E", "9", name, "echo", "ran").Check(t, 9, "", "")
			second := e.Queue(t, flockEtcd, option, "--queue", "2", name)
			awaitLine(t, c, name, 3)
			h.Release(t)
			first.AwaitOutput(t)
			if option == "-s" {
				second.AwaitOutput(t)
			}
			first.Release(t)
			second.AwaitOutput(t)
			second.Release(t)
		})
	}
}

// TestQueueInCooldown has one wait for the end of a cooldown, which counts.
func TestQueueInCooldown(t *testing.T) {
	t.Parallel()
	name, e, c := leasetest.LockName(t), ours(t), sharedCluster(t)
	e.Run(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "true").Check(t, 0, "", "")
	began := time.Now()
	w := e.Start(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "echo", "in")
	leasetest.Await(t, "one in the line before the cooldown", func() bool {
		r, err := c.Client().Get(t.Context(), "/flock/"+name+"/cooldown/", clientv3.WithPrefix())
		return err == nil && len(r.Kvs) == 2 // the cooldown is the other one
	})
	if p := e.Run(t, flockEtcd, "--holders", name); p.Status != 1 ||
		!strings.Contains(p.Out.String(), "exclusive (waiting)") {
		t.Errorf("--holders: %d %s", p.Status, &p.Out)
	}
	e.Run(t, flockEtcd, "--cooldown", "6", "--queue", "1", name, "echo", "ran").Check(t, 1, "", "")
	w.AwaitEnd(t).Check(t, 0, "in\n", "")
	if d := w.EndedAt.Sub(began); d < 4*time.Second {
		t.Errorf("the cooldown of six seconds ended after %v", d)
	}
}

// TestQueuePlaceOfTheDead kills one who waits. Its place is free when its lease has ended.
func TestQueuePlaceOfTheDead(t *testing.T) {
	t.Parallel()
	name, c := leasetest.LockName(t), sharedCluster(t)
	e := ours(t, "FLOCK_ETCD_TTL=2")
	h := ours(t).Hold(t, flockEtcd, name)
	first := e.Queue(t, flockEtcd, "--queue", "1", name)
	awaitLine(t, c, name, 2)
	first.Process.Kill()
	leasetest.Await(t, "a place in the queue", func() bool {
		return e.Run(t, flockEtcd, "--queue", "1", "-w", "0.1", "-E", "7", "--verbose", name, "true").Err.String() ==
			"flock-etcd: timeout while waiting to get lock\n"
	})
	h.Release(t)
}

// TestQueueOfMany has many come at random while some of them are killed, and watches who waits. Nobody gets in who
// comes when the queue is full; of those who ask for a permit at the moment before that, more may wait. A refused one
// can rely on it that a command begins after its request.
func TestQueueOfMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode           string
		permits, queue int
		kills          bool
	}{{"-x", 1, 1, false}, {"-x", 1, 3, true}, {"--permits=2", 2, 1, false}, {"--permits=3", 3, 2, true}} {
		t.Run(fmt.Sprint(c.mode, " ", c.queue), func(t *testing.T) {
			t.Parallel()
			name, members := leasetest.LockName(t), sharedCluster(t)
			e := ours(t, "ETCDCTL_DIAL_TIMEOUT=1m")
			if c.kills {
				e = append(e, "FLOCK_ETCD_TTL=2") // the places of those that are killed stay for that long
			}
			type entry struct { // into a full queue
				PID  int
				full time.Time // since then
			}
			watched, most := make(chan []entry, 1), 0
			end := "/flock/" + name + "/line/end"
			watch := members.Client().Watch(t.Context(), "/flock/"+name+"/line/", clientv3.WithPrefix(),
				clientv3.WithCreatedNotify())
			<-watch
			go func() {
				var entries []entry
				defer func() { watched <- entries }()
				line, full := map[string]bool{}, time.Time{} // zero: it is not
				for w := range watch {
					for _, event := range w.Events {
						key := string(event.Kv.Key)
						switch line[key] = true; {
						case key == end:
							return
						case event.Type == clientv3.EventTypeDelete:
							delete(line, key)
						case event.IsCreate() && !full.IsZero():
							late := entry{full: full}
							json.Unmarshal(event.Kv.Value, &late)
							entries = append(entries, late)
						}
						waiting := len(line) - c.permits
						if most = max(most, waiting); waiting < c.queue {
							full = time.Time{}
						} else if full.IsZero() {
							full = time.Now()
						}
					}
				}
			}()
			log := t.TempDir() + "/began"
			var all []*leasetest.Child
			came := map[int]time.Time{} // by process
			for range howMany(t, 100) {
				now := time.Now()
				p := e.Start(t, flockEtcd, c.mode, "--queue", fmt.Sprint(c.queue), "-E", "7", name, "sh", "-c",
					`date +%s%N >>"$0"; sleep 0.1`, log)
				all, came[p.Process.Pid] = append(all, p), now
				time.Sleep(rand.N(60 * time.Millisecond))
				if c.kills && rand.N(10) == 0 {
					all[rand.N(len(all))].Process.Kill()
				}
			}
			refused, entered := 0, 0
			var last time.Time // when the last of those came who were refused
			for _, p := range all {
				switch p.AwaitEnd(t); {
				case p.Status == 7:
					refused++
					last = came[p.Process.Pid]
				case p.Status == 0:
					entered++
				case p.Status == 75 && c.kills && strings.Contains(p.Err.String(), "lost the lock"):
					t.Log("on a machine that is late: ", &p.Err) // as if it had been killed
				case p.Signal != syscall.SIGKILL:
					t.Errorf("status %d: %s", p.Status, &p.Err)
				}
			}
			if _, err := members.Client().Put(t.Context(), end, ""); err != nil {
				t.Fatal(err)
			}
			defer members.Client().Delete(t.Context(), end)
			entries := <-watched
			t.Logf("%d came, %d had the lock, %d were refused; at most %d waited; %d got into a full queue",
				len(all), entered, refused, most, len(entries))
			if c.mode == "-x" && most > c.queue {
				t.Errorf("%d waited", most)
			}
			for _, e := range entries {
				if late := came[e.PID].Sub(e.full); late > 0 {
					t.Errorf("process %d got in, and came %v after the queue was full", e.PID, late)
				}
			}
			if entered == 0 || refused == 0 {
				t.Fatal("nobody had it, or nobody was refused")
			}
			words := strings.Fields(leasetest.Read(log))
			if n, _ := strconv.ParseInt(words[len(words)-1], 10, 64); !c.kills && time.Unix(0, n).Before(last) {
				t.Errorf("no command has begun after the last request, which was refused")
			}
		})
	}
}

// TestPermitsBesideOthers has some take permits of which there are enough for all, while others come who would not
// wait, or not all of them. Those who have just come are in nobody's way.
func TestPermitsBesideOthers(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-n", "--queue=1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			e, name := ours(t), leasetest.LockName(t)
			var all []*leasetest.Child
			for range howMany(t, 15) {
				all = append(all, e.Start(t, flockEtcd, "--permits=100", name, "sleep", "1"),
					e.Start(t, flockEtcd, "--permits=100", option, name, "true"))
			}
			for _, p := range all { // on a busy machine they say that they were kept waiting
				if p.AwaitEnd(t); p.Status != 0 {
					t.Errorf("status %d: %s", p.Status, &p.Err)
				}
			}
		})
	}
}

// TestReport reads who has the lock.
func TestReport(t *testing.T) {
	t.Parallel()
	name, e, c := leasetest.LockName(t), ours(t), sharedCluster(t)
	host, _ := os.Hostname()
	held := func(h *leasetest.Holding, state, more string) string {
		return fmt.Sprintf(`flock-etcd: %s held by process %d of \S+ on %s, running for \d+ s%s\n`,
			state, h.Process.Pid, regexp.QuoteMeta(host), more)
	}
	check := func(p *leasetest.Child, status int, text string) {
		t.Helper()
		if p.AwaitEnd(t); p.Status != status || !regexp.MustCompile("^"+text+"$").MatchString(p.Err.String()) {
			t.Errorf("%q: status %d, expected %d; %s; expected %s", p.Args, p.Status, status, &p.Err, text)
		}
	}
	check(e.Run(t, flockEtcd, "--report", "0", name, "true"), 0, "") // nobody has it
	h := e.Hold(t, flockEtcd, "-s", name)
	check(e.Run(t, flockEtcd, "--report", "0", "-n", name, "true"), 1, held(h, name+" is", ""))
	h2 := e.Hold(t, flockEtcd, "-s", name)
	check(e.Run(t, flockEtcd, "--report", "30", "-w", "3", "--verbose", name, "true"), 1,
		held(h, name+" is", ", and 1 more")+"flock-etcd: timeout while waiting to get lock\n")
	h2.Release(t)
	w := e.Queue(t, flockEtcd, "--report", "0.2", "--queue", "1", name)
	awaitLine(t, c, name, 2)
	check(e.Run(t, flockEtcd, "--report", "9", "--queue", "1", name, "true"), 1,
		held(h, name+" is", "; its queue is full"))
	leasetest.Await(t, "the report", func() bool { return w.Err.String() != "" })
	h.Release(t)
	w.AwaitOutput(t)
	w.Input.Close()
	check(w.Child, 3, held(h, "waiting for "+name+",", ""))
	e.Run(t, flockEtcd, "--cooldown", "30", name, "true").Check(t, 0, "", "")
	check(e.Run(t, flockEtcd, "--cooldown", "30", "--report", "0", "-n", name, "true"), 1,
		"flock-etcd: "+name+" is in its cooldown until [-0-9: +]+\n")
	silent := reach("127.0.0.1:1", "ETCDCTL_DIAL_TIMEOUT=1s").Run(t, flockEtcd, "--report", "0", name, "true")
	if silent.Status != 75 || strings.Count(silent.Err.String(), "\n") != 1 {
		t.Errorf("status %d: %s", silent.Status, &silent.Err)
	}
}
