//go:build linux

package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// A row of the table is a check. It is made with each of its programs on each filesystem, in a directory of its own;
// with all of them together if a machine must be restarted for it.
type row struct {
	name, text string
	programs   []string
	check      func(...*scene)
	together   bool
}

func each(check func(*scene)) func(...*scene) { return func(s ...*scene) { check(s[0]) } }

var (
	all    = []string{reference, ours, directory}
	kernel = []string{reference, ours}
	beyond = []string{ours, directory} // what util-linux does not have
)

var checks = []row{
	{"exclusive", "an exclusive lock excludes both clients, and `-n` says so", all, each(exclusive), false},
	{"shared", "shared locks of both clients go together, and exclude an exclusive one", all, each(shared), false},
	{"limits", "`-w` and `-E`", all, each(limits), false},
	{"waiter", "a waiter on the other client gets the lock", all, each(waiter), false},
	{"old-news", "so does one on a client that keeps attributes for ten minutes (`nocto,actimeo=600`)",
		[]string{directory}, each(oldNews), false},
	{"clock", "so does one while the clocks of all are set an hour back and forth",
		[]string{directory}, each(clocks), false},
	{"listing", "so do forty whose client lists the directory all the time",
		[]string{directory}, each(listing), false},
	{"descriptor", "a lock by number, `-u`, and the end of the script", all, each(descriptor), false},
	{"no-fork", "`-F`", all, each(noFork), false},
	{"kill", "`kill -9` of flock leaves the lock, of its command frees it", all, each(kill), false},
	{"close", "`-o`: `kill -9` of flock frees the lock", all, each(closed), false},
	{"fcntl", "`--fcntl` excludes both clients", kernel,
		each(func(s *scene) { s.flock += " --fcntl"; exclusive(s) }), false},
	{"mixed", "flock on one client and `--fcntl` on the other exclude each other", kernel, each(mixed), false},
	{"server-flock", "a process of the server sees it", all, each(onServer), false},
	{"server-fcntl", "a process of the server sees it, by `--fcntl`", kernel, each(onServerByFcntl), false},
	{"directory", "an exclusive lock of a directory excludes the other client", all, each(ofDirectory), false},
	{"recipe-fd", "`exec 9<script; flock -n 9`", all, each(recipeDescriptor), false},
	{"recipe-self", "`flock -en script script`", all, each(recipeSelf), false},
	{"permits", "`--permits 2` on both clients, with a plain lock between them", beyond, each(permits), false},
	{"permits-fcntl", "the same with `--backend fcntl`", []string{ours}, each(permitsFcntl), false},
	{"queue", "`--queue 1` with a waiter on each client", beyond, each(queue), false},
	{"cooldown", "`--cooldown`, while the server's clock is an hour ahead", beyond, each(cooldown), false},
	{"torture", "torture: entries, and how many were killed; never two inside", all, each(tortures), false},
	{"starvation", "three workers loop on one client; a waiter on the other gets the lock",
		all, each(starvation), false},
	{"crash", "the holder's machine crashes; the lock is free", all, crash, true},
	{"reboot", "the holder's machine is shut down; the lock is free", all, reboot, true},
	{"server", "the server crashes and restarts: the holder still has the lock", all, serverCrash, true},
}

// A scene is one check with one program on one filesystem.
type scene struct {
	dir, flock string
	faults     []string
	result     string // for the table; yes if empty
}

func (s *scene) expect(ok bool, format string, args ...any) {
	if !ok {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// isRefused reports whether there is no directory lock on this filesystem, because it makes no FIFOs. That is a result.
func (s *scene) isRefused() bool {
	if s.flock != directory {
		return false
	}
	out, status := s.run(c1, "FLOCK probe true")
	if status == 0 {
		return false
	}
	s.expect(status == 65 && strings.Contains(out, "FLOCK_DIR"), "status %d: %s", status, out)
	s.result = "refused at once"
	return true
}

// run runs a script in the directory of the scene. In scripts, FLOCK stands for the program.
func (s *scene) run(m *machine, script string) (string, int) { return m.run(s.script(script)) }

func (s *scene) script(script string) string {
	return "cd " + s.dir + " || exit 99; " + strings.ReplaceAll(script, "FLOCK", s.flock)
}

// status checks the exit status of a script.
func (s *scene) status(m *machine, script string, want int) {
	if out, got := s.run(m, script); got != want {
		s.expect(false, "%s: %s: status %d, not %d: %s", m.name, script, got, want, strings.ReplaceAll(out, "\n", " "))
	}
}

// hold holds the lock until the function that it returns is called. Without the lock that is a fault.
func (s *scene) hold(m *machine, script string) *holder {
	h, err := m.hold(s.script(script))
	if err != nil {
		s.expect(false, "%v", err)
		h, err = m.hold(inside) // something to release
		check(err)
	}
	return h
}

// free checks that the lock of a process of c1 that has ended is free. Only its own machine can know that of a
// directory lock, so that goes first.
func (s *scene) free() {
	s.status(c1, "FLOCK -w 20 f true", 0)
	s.status(c2, "FLOCK -w 20 f true", 0)
}

func exclusive(s *scene) {
	h := s.hold(c1, "FLOCK f "+inside)
	s.status(c1, "FLOCK -n f true", 1)
	s.status(c2, "FLOCK -n f true", 1)
	h.release()
	s.status(c2, "FLOCK -n f true", 0)
	s.status(c1, "FLOCK -n f true", 0)
}

func shared(s *scene) {
	h1 := s.hold(c1, "FLOCK -s f "+inside)
	h2 := s.hold(c2, "FLOCK -n -s f "+inside)
	s.status(c1, "FLOCK -n f true", 1)
	s.status(c2, "FLOCK -n f true", 1)
	h1.release()
	s.status(c1, "FLOCK -n f true", 1)
	h2.release()
	s.status(c1, "FLOCK -n f true", 0)
}

func limits(s *scene) {
	h := s.hold(c1, "FLOCK f "+inside)
	s.status(c2, "FLOCK -n -E 9 f true", 9)
	// Where the kernel does not let a signal end the wait, it ends with the holder.
	late := time.AfterFunc(10*time.Second, h.release)
	began := time.Now()
	_, status := s.run(c2, "FLOCK -w 1 -E 8 f true")
	s.expect(time.Since(began) >= time.Second, "-w 1 has waited for %v", time.Since(began))
	if late.Stop() {
		s.expect(status == 8, "-w 1: status %d", status)
		h.release()
	} else {
		s.result = "`-w` does not end the wait"
		s.expect(s.flock != directory, "-w 1 has waited for the holder")
	}
}

func waiter(s *scene) { s.handOver(s, func() {}) }

// clocks sets the time of day while the lock is held and waited for.
func clocks(s *scene) {
	machines := []*machine{server, c1, c2}
	set := func(ahead time.Duration, on ...*machine) {
		for _, m := range on {
			m.must(fmt.Sprintf("date -s @%d", time.Now().Add(ahead).Unix()))
		}
	}
	defer set(0, machines...)
	var results []string
	for n, ahead := range []time.Duration{-time.Hour, time.Hour} {
		set(0, machines...)
		took := s.handOver(s, func() {
			set(ahead, machines[n:]...) // once with the server's, which gives files their times
			s.status(c1, "FLOCK -n f true", 1)
			s.status(c2, "FLOCK -w 1 f true", 1)
		})
		s.expect(took < 5*time.Second, "the clocks are %v ahead: after %s", ahead, seconds(took))
		results = append(results, seconds(took))
	}
	s.result = "after " + strings.Join(results, " and ")
}

// oldNews has the waiter on a mount whose client does not ask the server about what it knows.
func oldNews(s *scene) {
	const nfs = " server:/srv/disk/share"
	mount := map[string]string{
		"nfs4": "nfs -o vers=4.2,nocto,actimeo=600" + nfs,
		"nfs3": "nfs -o vers=3,nocto,actimeo=600" + nfs,
	}
	filesystem, dir, _ := strings.Cut(s.dir[1:], "/")
	c2.must("mkdir -p /lazy && mount -t " + mount[filesystem] + " /lazy")
	defer c2.must("umount -l /lazy")
	took := s.handOver(&scene{dir: "/lazy/" + dir, flock: s.flock}, func() {})
	s.expect(took < 5*time.Second, "after %s", seconds(took))
}

// listing has c2 list the names while a contender and a holder of c1 leave, one right after the other: both changes may
// come within one tick of the server's clock, and then c2 may know one and never learn of the other.
func listing(s *scene) {
	s.status(c1, "FLOCK f true", 0) // makes the directory
	reader := s.hold(c2, `perl -e '$| = 1; print "in $$ $$\n";
		until (select $input = "\1", undef, undef, 0) { opendir D, ".f.flock"; readdir D }'`)
	defer reader.release()
	var slowest time.Duration
	for range 40 {
		h := s.hold(c1, `FLOCK f sh -c 'echo in $PPID $$; read x; FLOCK -n f true'`)
		in := s.startWaiter()
		slowest = max(slowest, s.releaseTo(in, h))
	}
	s.result = "after " + seconds(slowest) + " at most"
	s.expect(slowest < 5*time.Second, "%s", s.result)
}

// handOver has a waiter on c2, in another scene, get the lock that a holder on c1 releases, and returns how long that
// takes.
func (s *scene) handOver(other *scene, meanwhile func()) time.Duration {
	h := s.hold(c1, "FLOCK f "+inside)
	in := other.startWaiter()
	time.Sleep(2 * time.Second) // as one that has waited for some time
	meanwhile()
	took := s.releaseTo(in, h)
	s.result = "after " + seconds(took)
	return took
}

// startWaiter starts a waiter on c2, and returns when it runs. in tells what it said, and its exit status.
func (s *scene) startWaiter() (in <-chan string) {
	said := make(chan string, 1)
	go func() {
		out, status := s.run(c2, "FLOCK f echo in")
		said <- fmt.Sprint(out, status)
	}()
	for {
		if _, status := c2.run("pgrep -f '[f] echo in'"); status == 0 {
			return said
		}
	}
}

// releaseTo releases the lock for a waiter, and returns how long that takes.
func (s *scene) releaseTo(in <-chan string, h *holder) time.Duration {
	h.release()
	began := time.Now()
	got := <-in
	took := time.Since(began)
	s.expect(strings.HasSuffix(got, "in0"), "the waiter got %q", got)
	return took
}

func descriptor(s *scene) {
	// A plain read, not a command that inherits the descriptor.
	script := func(middle string) string { return "exec 9>>f; FLOCK 9; " + middle + " echo in $$ $$; read x" }
	h := s.hold(c1, script(""))
	s.status(c2, "exec 9>>f; FLOCK -n 9", 1)
	s.status(c1, "FLOCK -n f true", 1)
	h.release()
	s.free()
	h = s.hold(c1, script("FLOCK -u 9;"))
	s.status(c2, "FLOCK -n f true", 0)
	h.release()
}

func noFork(s *scene) {
	h := s.hold(c1, "FLOCK -F f "+inside)
	s.status(c2, "FLOCK -n f true", 1)
	c1.must("kill -9 " + h.pid)
	h.release()
	s.free()
}

// The shell that reads at the end keeps the connection, and so the command its input, when flock is killed.
func kill(s *scene) {
	h := s.hold(c1, "exec 2>/dev/null; FLOCK f "+inside+"; read x")
	c1.must("kill -9 " + h.parent)
	s.status(c2, "FLOCK -n f true", 1)
	s.status(c1, "FLOCK -n f true", 1)
	c1.must("kill -9 " + h.pid)
	h.release()
	s.free()
}

func closed(s *scene) {
	h := s.hold(c1, "exec 2>/dev/null; FLOCK -o f "+inside+"; read x")
	s.status(c2, "FLOCK -n f true", 1)
	c1.must("kill -9 " + h.parent)
	s.free()
	h.release()
}

func mixed(s *scene) {
	h := s.hold(c1, "FLOCK f "+inside)
	s.status(c2, "FLOCK --fcntl -n f true", 1)
	h.release()
	h = s.hold(c1, "FLOCK --fcntl f "+inside)
	if _, status := s.run(c2, "FLOCK -n f true"); status != 1 {
		s.result = "not always"
	}
	h.release()
}

func onServer(s *scene)        { seenBy(s, server, "/srv/disk/share", "FLOCK -n f true") }
func onServerByFcntl(s *scene) { seenBy(s, server, "/srv/disk/share", "FLOCK --fcntl -n f true") }
func ofDirectory(s *scene) {
	s.status(c1, "mkdir f", 0)
	seenBy(s, c2, "", "FLOCK -n f true")
}

// seenBy finds out whether another machine sees the lock. The share is in its directory root.
func seenBy(s *scene, m *machine, root, script string) {
	h := s.hold(c1, "FLOCK f "+inside)
	defer h.release()
	there := *s
	if root != "" {
		there.dir = root + "/" + path.Base(s.dir)
	}
	out, status := there.run(m, script)
	s.expect(status == 0 || status == 1, "status %d: %s", status, out)
	if status == 0 {
		s.result = "no"
		s.expect(s.flock != directory, "nobody sees the directory lock")
	}
}

func recipeDescriptor(s *scene) {
	out, status := s.run(c1, "echo '#!/bin/sh' >script; exec 9<script; FLOCK -n 9 2>&1")
	s.result = said(out, status)
}

func recipeSelf(s *scene) {
	// Made by the other client, so that this one has nothing in its cache.
	s.status(c2, "printf '#!/bin/sh\necho in\n' >script; chmod 755 script", 0)
	out, status := s.run(c1, "FLOCK -en ./script ./script 2>&1")
	s.result = said(out, status)
}

// said returns the status and the message of a recipe, as far as util-linux says the same.
func said(out string, status int) string {
	if status == 0 {
		return "yes"
	}
	message, _, _ := strings.Cut(out, "\n")
	message, _, _ = strings.Cut(message, " (")
	return fmt.Sprintf("%d: %s", status, message[strings.LastIndex(message, ": ")+2:])
}

func permitsFcntl(s *scene) {
	s.flock += " --backend fcntl"
	permits(s)
}

func permits(s *scene) {
	if out, status := s.run(c1, "FLOCK --permits 2 f true"); s.flock != directory && status != 0 {
		s.expect(status == 65 && strings.Contains(out, "--backend"), "status %d: %s", status, out)
		s.result = "refused at once"
		return
	}
	for _, other := range []*machine{c1, c2} {
		h1 := s.hold(c1, "FLOCK --permits 2 f "+inside)
		h2 := s.hold(other, "FLOCK --permits 2 f "+inside)
		for _, m := range []*machine{c1, c2} {
			s.status(m, "FLOCK -n --permits 2 f true", 1)
			s.status(m, "FLOCK -n f true", 1)
		}
		h1.release()
		s.status(c2, "FLOCK -w 20 --permits 2 f true", 0)
		s.status(c1, "FLOCK -n f true", 1)
		h2.release()
		x := s.hold(other, "FLOCK f "+inside)
		for _, m := range []*machine{c1, c2} {
			s.status(m, "FLOCK -n --permits 2 f true", 1)
		}
		x.release()
	}
}

func queue(s *scene) {
	if out, status := s.run(c1, "FLOCK --queue 1 f true"); s.flock != directory {
		s.expect(status == 65 && strings.Contains(out, "--backend directory"), "status %d: %s", status, out)
		s.result = "refused at once"
		return
	}
	for _, m := range []*machine{c1, c2} {
		h := s.hold(c1, "FLOCK f "+inside)
		done := make(chan int)
		go func() {
			_, status := s.run(m, "FLOCK --queue 1 f echo in")
			done <- status
		}()
		for status := 0; status == 0; { // until it has its place
			_, status = s.run(c1, "! ls .f.flock.queue | grep permit")
		}
		s.status(c1, "FLOCK --queue 1 f true", 1)
		s.status(c2, "FLOCK --queue 1 f true", 1)
		h.release()
		s.expect(<-done == 0, "the one who waits on %s does not get the lock", m.name)
	}
	s.free()
}

func cooldown(s *scene) {
	defer server.must("date -s @" + c1.must("date +%s"))
	server.must("date -s @$(($(date +%s) + 3600))")
	// A file that the server has made an hour ahead is in a cooldown.
	s.status(c1, "touch -d \"$(date '+%F %T')\" f; FLOCK -n --cooldown 3 f true", 0)
	s.status(c1, "FLOCK -n --cooldown 3 f true", 1)
	s.status(c2, "FLOCK -n --cooldown 3 f true", 1)
	s.status(c2, "FLOCK -w 60 --cooldown 3 f true", 0)
}

// tortures judges by a name that only one can make, on the server, and by a counter. Locks of the kernel are the
// filesystem's: if it does not end with them, that is a result.
func tortures(s *scene) {
	c1.must(s.script("mkdir killed; echo 00000000 >counter"))
	type report struct {
		text   string
		status int
	}
	reports := make(chan report, 2)
	for _, m := range []*machine{c1, c2} {
		go func() {
			text, status := s.run(m, fmt.Sprintf("/run/machine/torture.sh %.0f 'FLOCK'", torture.Seconds()))
			reports <- report{text, status}
		}()
	}
	entered, kills, ended := 0, 0, true
	for range 2 {
		var e, k int
		r := <-reports
		if r.status == noEnd && s.flock != directory {
			ended = false
			continue
		}
		_, err := fmt.Sscan(r.text, &e, &k)
		s.expect(err == nil, "%s", r.text)
		entered, kills = entered+e, kills+k
	}
	if !ended { // and maybe nothing else on that filesystem does
		c1.crash()
		c2.crash()
		boot(c1, c2)
	}
	counter, _ := strconv.Atoi(strings.TrimLeft(c2.must(s.script("cat counter")), "0"))
	broken, _ := s.run(c1, "cat broken 2>/dev/null")
	s.expect(broken == "", "two were inside: %s", broken)
	if !ended {
		s.result = fmt.Sprintf("no end, after %d", counter)
		return
	}
	// One who was killed may have counted without having noted it.
	s.expect(entered > 0 && entered <= counter && counter <= entered+kills,
		"%d entered, %d were killed, the counter is %d",
		entered, kills, counter)
	s.result = fmt.Sprintf("%d, %d", entered, kills)
}

func starvation(s *scene) {
	workers := s.hold(c1, `for i in 1 2 3; do
			while [ -e /proc/$$ ]; do FLOCK f sleep .05; done &
		done </dev/null >/dev/null
		echo in $$ $$; read x`)
	defer s.run(c1, "FLOCK -w 60 f true") // until the workers are gone
	defer workers.release()
	began := time.Now()
	switch out, status := s.run(c2, "timeout -s KILL 40 FLOCK f true; exit $?"); status {
	case 0:
		s.result = "after " + seconds(time.Since(began))
	case killed:
		s.result = "not in 40 s"
	default:
		s.expect(false, "status %d: %s", status, out)
	}
}

// killed is the exit status of "timeout -s KILL" after its time.
const killed = 128 + 9

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// longestLease is how many seconds a crashed client may keep a lock of NFS 4: the lease and what the server adds to it.
const longestLease = 40

func crash(scenes ...*scene)  { loseClient(scenes, c1.crash) }
func reboot(scenes ...*scene) { loseClient(scenes, c1.shutDown) }

// loseClient ends the machine that holds the locks, and finds out when the other client gets them.
func loseClient(scenes []*scene, end func()) {
	var held []*scene
	for _, s := range scenes {
		if _, err := c1.hold(s.script("FLOCK f " + inside)); err != nil {
			s.expect(false, "%v", err)
		} else {
			held = append(held, s)
		}
	}
	end()
	got := make(chan bool)
	began := time.Now()
	for _, s := range held {
		go func() {
			// Not every filesystem lets -w end the wait.
			_, status := s.run(c2, fmt.Sprintf("timeout -s KILL %d FLOCK f true", longestLease))
			if status == 0 {
				s.result = "after " + seconds(time.Since(began))
			}
			got <- true
		}()
	}
	for range held {
		<-got
	}
	boot(c1)
	for _, s := range held {
		if s.result != "" {
			continue
		}
		if _, status := s.run(c2, "timeout -s KILL 20 FLOCK f true"); status == 0 {
			s.result = "when it has restarted"
			continue
		}
		s.result = "when it has restarted and asks"
		s.status(c1, "timeout -s KILL 60 FLOCK f true", 0)
		s.status(c2, "timeout -s KILL 60 FLOCK f true", 0)
	}
}

func serverCrash(scenes ...*scene) {
	var holders []*holder
	for _, s := range scenes {
		holders = append(holders, s.hold(c1, "FLOCK f "+inside))
	}
	server.crash()
	boot(server)
	time.Sleep(12 * time.Second) // the server's grace period, in which it gives no locks
	for i, s := range scenes {
		s.status(c1, "ls", 0)
		if _, status := s.run(c2, "FLOCK -n f true"); status != 1 {
			s.result = "no"
			s.expect(s.flock != directory, "the directory lock is lost")
		}
		holders[i].release()
		s.status(c2, "timeout -s KILL 60 FLOCK f true", 0)
	}
}
