package fallback

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/flock/internal/openfile"
)

// when says when a scenario runs.
type when int

const (
	always    when = iota
	inTest         // not with -short
	inTorture      // only in make torture, and there for as long as it says
)

// The scripts are those of parseScript, one in a line.
func TestEveryInterleaving(t *testing.T) {
	total, long := 0, tortureDuration(t)
	for _, c := range []struct {
		when    when
		name    string
		rules   rules
		scripts string
	}{
		// Programs that lock for themselves.
		{always, "exclusive", rules{crashes: 3}, "X u|X u|X u"},
		{inTorture, "two exclusive, one shared", rules{crashes: 3}, "X u|X u|S u"},
		{always, "one exclusive, one shared", rules{crashes: 2}, "X u X u|S u S u"},
		{inTorture, "one exclusive, two shared", rules{crashes: 3}, "X u|S u|S u"},
		{inTorture, "two permits for three", rules{crashes: 3, permits: 2}, "P u|P u|P u"},
		{inTorture, "one permit, one shared, one exclusive", rules{crashes: 3, permits: 1}, "P u|S u|X u"},
		{inTorture, "one permit for two, and one exclusive", rules{crashes: 2, permits: 1}, "P u|P u|X u"},
		{inTorture, "trying", rules{crashes: 3}, "x u|x u|s u"},
		{inTorture, "one comes again", rules{crashes: 2}, "X u X u|X u|X u"},
		{inTorture, "two upgrades", rules{crashes: 2}, "S X u|S X u|X u"},
		{always, "two upgrades alone", rules{crashes: 2}, "S X u|S X u"},
		{inTorture, "upgrades tried", rules{crashes: 1}, "S x u|S x u|S u"},
		{inTorture, "upgrade beside shared", rules{crashes: 2}, "S X u|S u|S u"},
		{always, "upgrade beside one shared", rules{crashes: 2}, "S X u|S u"},
		{inTorture, "downgrade", rules{crashes: 1}, "X S u|X u|S u"},
		{always, "downgrade beside one", rules{crashes: 1}, "X S u|X u"},
		{inTorture, "there and back", rules{crashes: 1}, "X S X u|X u|S u"},
		{inTorture, "to a permit and back", rules{crashes: 2, permits: 1}, "S P X u|P u|X u"},
		{inTorture, "to a permit", rules{permits: 1}, "S P u|P u|X u"},
		{inTorture, "torn listings", rules{crashes: 1, torn: true}, "X u|S u|X u"},
		{always, "torn listings of two", rules{crashes: 1, torn: true}, "X S u|X u"},
		{inTorture, "torn listings and conversions", rules{torn: true}, "X S u|X u|S X u"},
		// The protocol does not rest on the verdict about a busy token: exclusion holds even if one who has it is thought
		// dead.
		{inTorture, "thought dead", rules{lies: 2}, "X u|X u|S u"},
		{always, "thought dead, two", rules{lies: 2}, "X u X u|X u"},
		{inTorture, "thought dead, shared", rules{lies: 1}, "S u|X u|S u"},
		{inTorture, "thought dead, permits", rules{permits: 1, lies: 1}, "P u|P u|X u"},
		{inTorture, "thought dead, converting", rules{lies: 1}, "X S u|S X u|X u"},
		// Open files of shells and commands.
		{always, "two shells", rules{}, "open9 X9 work u9|open9 X9 work u9"},
		{inTorture, "two shells, one killed", rules{crashes: 1}, "open9 X9 work u9|open9 X9 work u9"},
		{inTorture, "exclusive and shared by number", rules{crashes: 1}, "open9 X9 work u9|open9 S9 work u9"},
		{always, "two commands, one killed", rules{crashes: 1}, "X(work)|X(work)"},
		{always, "two commands, one shared, one killed", rules{crashes: 1}, "X(work)|S(work)"},
		{inTorture, "two commands, two killed", rules{crashes: 2}, "X(work)|X(work)"},
		{always, "a child locks, its parent ends", rules{}, "open9 &(X9 work) work|X(work)"},
		{inTorture, "a child locks, one is killed", rules{crashes: 1}, "open9 &(X9 work) work|X(work)"},
		{inTest, "a child locks once more", rules{}, "open9 X9 &(X9 work) work|X(work)"},
		{inTorture, "a child locks once more, one is killed", rules{crashes: 1}, "open9 X9 &(X9 work) work|X(work)"},
		{inTorture, "a child upgrades", rules{}, "open9 S9 &(X9 work) work|S(work)"},
		{always, "another file under the number", rules{}, "open9 X9 move9-7 open9 x9! close9 move7-9 work|X(work)"},
		{always, "another file under the number, unlocked", rules{}, "open9 X9 move9-7 open9 u9 close9 move7-9 work|X(work)"},
		{always, "a child of a command keeps the lock", rules{}, "X(&(work) work)|X(work)"},
		{inTorture, "a child of a command keeps the lock, one is killed", rules{crashes: 1}, "X(&(work) work)|X(work)"},
		{always, "a child of a shell keeps the lock", rules{}, "open9 X9 &(work) work|X(work)"},
		{always, "from child to child", rules{}, "open9 X9 &(&(work) work) work|X(work)"},
		{inTorture, "from child to child to child", rules{}, "open9 X9 &(&(&(work) work) work) work|X(work)"},
		{always, "a child that has the lock tries for itself", rules{}, "open9 X9 &(x work) close9"},
		{always, "a shell opens the file again under the number", rules{permits: 1}, "open8 S8 open9 P9 &(work) open9 S9 u9 p9 work"},
		{always, "a shell has one open file under two numbers", rules{}, "open9 S9 &(work) open8 S8 copy8-9 x8 work"},
		{inTorture, "a shared lock's flock is killed, and a permit's", rules{permits: 1}, "&(S(orphan)) P(orphan s p)"},
		// One open file is left, and whose of two records of different kinds it is, nothing tells.
		{inTorture, "a reader's child, and a permit that is over", rules{permits: 2}, "open3 S3 &(work)|P(orphan)|X(work)"},
		{inTest, "a shared lock under the number of a permit", rules{permits: 1}, "open5 P5 move5-7 open5 S5 close5 move7-5 work|P(work)"},
		{inTorture, "a permit under the number of a command", rules{permits: 1},
			"FS(open5 &(move5-6 P6 work) close3 move5-3 work)|P(work)"},
		{inTorture, "a shared lock under the number of a child's permit", rules{permits: 1},
			"open5 &(P5 work) move5-7 open5 S5 close5 move7-5 work|P(work)"},
		{inTorture, "a permit's child, which has closed a shared lock of its own", rules{permits: 1},
			"open9 P9 &(open3 S3 close3 work)|P(work)"},
		{inTorture, "a permit's child, and a reader that is over", rules{permits: 1}, "open9 P9 move9-3 &(work)|open3 S3|P(work)"},
		{always, "closed and opened again", rules{}, "open9 X9 close9 open8 x8 work"},
		{inTorture, "two permits of one shell", rules{permits: 2}, "open8 open9 P8 P9 close8 work|P(work)"},
		{inTorture, "upgrade by number", rules{}, "open9 S9 X9 work u9|S(work)"},
		{inTorture, "upgrade by number, one killed", rules{crashes: 1}, "open9 S9 X9 work u9|S(work)"},
		{inTorture, "downgrade by number", rules{}, "open9 X9 S9 work u9|X(work)"},
		// Where the file is somebody else's, and the mark O_NONBLOCK.
		{inTorture, "somebody else's file: a child locks once more", rules{}, "user open9 X9 &(X9 work) work|user X(work)"},
		{inTorture, "somebody else's file: a command", rules{crashes: 1}, "user X(&(work) work)|user X(work)"},
		{inTorture, "a reader, and a permit of somebody else that is over", rules{permits: 1}, "FS(move3-8 work)|user FP()|X(work)"},
		// Shells that move their descriptors while others look.
		{always, "moves: unlock", rules{moves: true}, "open9 X9 &(u9 open8 x8+) move9-7 move7-9 move9-7 move7-9"},
		{always, "moves: lock again", rules{moves: true}, "open9 X9 &(x9+ x9+) move9-7 move7-9 move9-7 move7-9"},
		{inTorture, "moves: convert", rules{moves: true}, "open9 X9 &(s9+ x9+) move9-7 move7-9 move9-7 move7-9|x(work)"},
		{always, "moves: another one tries", rules{moves: true}, "open9 X9 move9-7 move7-9 move9-7 move7-9|x(work)"},
		{inTorture, "moves: two readers", rules{moves: true},
			"open9 open8 S8 S9 &(u8 open5 x5!) move9-7 move7-9 move9-7 move7-9"},
		{always, "moves: a permit again", rules{moves: true, permits: 2},
			"open9 P9 &(p9+ open5 p5+) move9-7 move7-9 move9-7 move7-9"},
		{inTorture, "moves: a permit for a child", rules{moves: true, permits: 2},
			"open9 P9 &(close9 open5 p5+ open6 p6) move9-7 move7-9 move9-7 move7-9 work"},
		{inTorture, "moves: a free permit", rules{moves: true, permits: 2}, "open9 P9 move9-7 move7-9 move9-7 move7-9|open5 p5+"},
		{inTorture, "moves: two permits", rules{moves: true, permits: 2},
			"open9 open8 P8 P9 &(u8 open5 p5+ u5 p8+) move9-7 move7-9 move9-7 move7-9"},
		{inTorture, "moves: a third permit", rules{moves: true, permits: 2},
			"open9 open8 P8 P9 move8-17 move9-8 move17-9 move9-7 move7-9|p(work)"},
		{inTorture, "moves: a reader becomes a permit", rules{moves: true, permits: 2},
			"open9 open8 P9 S8 &(p8+ open5 p5!) move9-7 move7-9 move9-7 move7-9"},
		{inTorture, "moves: one permit over another", rules{moves: true, permits: 2},
			"open8 P8 open9 P9 &(close8 close9 open5 p5) copy8-17 copy9-8 copy9-18 copy17-8 close17 copy18-9 close18 work"},
		{inTorture, "moves: a permit and a reader change places", rules{moves: true, permits: 1},
			"open9 open8 P9 S8 move8-17 move9-8 move17-9 move9-7 move7-9|p(work)"},
		// Where nothing tells that two descriptors are one open file.
		{always, "no kcmp: two shells", rules{noKcmp: true}, "open9 X9 work u9|open9 X9 work u9"},
		{inTorture, "no kcmp: a child locks", rules{noKcmp: true}, "open9 &(X9 work) work|X(work)"},
		{inTorture, "no kcmp: a child locks once more", rules{noKcmp: true}, "open9 X9 &(X9 work) work|X(work)"},
		{always, "no kcmp: another file under the number", rules{noKcmp: true},
			"open9 X9 move9-7 open9 x9! close9 move7-9 work|X(work)"},
		{always, "no kcmp: another file under the number, unlocked", rules{noKcmp: true},
			"open9 X9 move9-7 open9 u9 close9 move7-9 work|X(work)"},
		{inTorture, "no kcmp: a child of a command keeps the lock", rules{noKcmp: true}, "X(&(work) work)|X(work)"},
		{inTorture, "no kcmp: upgrade by number", rules{noKcmp: true}, "open9 S9 X9 work u9|S(work)"},
		// Where nothing tells which process id was given out last.
		{inTorture, "no last id: a child locks, its parent ends", rules{noLast: true}, "open9 &(X9 work) work|X(work)"},
		{always, "no last id: a child of a command keeps the lock", rules{noLast: true}, "X(&(work) work)|X(work)"},
		{inTorture, "no last id: a child of a command keeps the lock, one is killed", rules{noLast: true, crashes: 1},
			"X(&(work) work)|X(work)"},
		{inTorture, "no last id: from child to child", rules{noLast: true}, "open9 X9 &(&(&(work) work) work) work|X(work)"},
		{inTorture, "neither: a child locks", rules{noLast: true, noKcmp: true}, "open9 &(X9 work) work|X(work)"},
		{inTorture, "neither: a child of a command keeps the lock", rules{noLast: true, noKcmp: true}, "X(&(work) work)|X(work)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch {
			case c.when == inTorture && long == 0:
				t.Skip("long: in make torture")
			case c.when == inTest && testing.Short():
				t.Skip("takes some seconds: in make test")
			case c.when == inTorture:
				c.rules.until = time.Now().Add(long)
			}
			states, story := explore(c.rules, strings.Split(c.scripts, "|")...)
			if story != "" {
				t.Fatal("\n" + story)
			}
			if c.when == inTorture && time.Now().After(c.rules.until) {
				t.Logf("%d states, not all, in %v", states, long)
			} else {
				t.Logf("%d states", states)
			}
			total += states
		})
	}
	t.Log("states in all:", total)
}

// tortureDuration is what the environment variable FLOCK_TORTURE says, such as 5m, or 0.
func tortureDuration(t *testing.T) (d time.Duration) {
	if s := os.Getenv("FLOCK_TORTURE"); s != "" {
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Changes to the protocol that look harmless have to be found out, or the test above would prove nothing.
func TestEveryInterleavingFindsMutants(t *testing.T) {
	for _, c := range []struct {
		name    string
		rules   rules
		scripts string
		wrap    func(*simFlock) contender
	}{
		{"a thief takes whatever token there is", rules{crashes: 1}, "X u|X u|X u",
			func(s *simFlock) contender { return anyToken{s} }},
		{"who is robbed of the token goes on, exclusive", rules{lies: 1}, "X u|X u|X u",
			func(s *simFlock) contender { return stubborn{s} }},
		{"who is robbed of the token goes on, shared", rules{lies: 1}, "S u|X u|X u",
			func(s *simFlock) contender { return stubborn{s} }},
		{"the record comes after the token is free", rules{}, "S u|X u|X u",
			func(s *simFlock) contender { return &tardy{simFlock: s} }},
		{"a reader does not look whether the token was free", rules{}, "S u|X u",
			func(s *simFlock) contender { return &hopeful{simFlock: s} }},
		{"nobody looks for the dead", rules{crashes: 1}, "X u|X u|X u",
			func(s *simFlock) contender { return optimist{s} }},
		{"a downgrade frees the token first", rules{crashes: 1}, "open9 X9 S9 work|X(work)",
			func(s *simFlock) contender { return &tardy{simFlock: s} }},
		// The lock as one of two processes, the caller of flock and its eldest ancestor that has the file open.
		{"a process's lock: a child locks, its parent ends", rules{}, "open9 &(X9 work) work|X(work)", ofProcess},
		{"a process's lock: a child locks once more", rules{}, "open9 X9 &(X9 work) work|X(work)", ofProcess},
		{"a process's lock: a child upgrades", rules{}, "open9 S9 &(X9 work) work|S(work)", ofProcess},
		{"a process's lock: another file under the number", rules{}, "open9 X9 move9-7 open9 x9! close9 move7-9 work|X(work)",
			ofProcess},
		{"a process's lock: another file under the number, unlocked", rules{},
			"open9 X9 move9-7 open9 u9 close9 move7-9 work|X(work)", ofProcess},
		{"a process's lock: a child keeps it", rules{}, "open9 X9 &(work) work|X(work)", ofProcess},
		{"a process's lock: a command's child keeps it", rules{}, "X(&(work) work)|X(work)", ofProcess},
		{"processes that are made while a scan passes are not looked at", rules{}, "open9 X9 &(&(&(work) work) work) work|X(work)",
			func(s *simFlock) contender { return hasty{s} }},
		{"the same without a last id", rules{noLast: true}, "open9 X9 &(&(&(work) work) work) work|X(work)",
			func(s *simFlock) contender { return &outdated{simFlock: s} }},
		{"a search ends with the first open file", rules{moves: true, permits: 2},
			"open8 P8 open9 P9 &(close8 close9 open5 p5) copy8-17 copy9-8 copy9-18 copy17-8 close17 copy18-9 close18 work",
			func(s *simFlock) contender { return content{s} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.rules.wrap = c.wrap
			states, story := explore(c.rules, strings.Split(c.scripts, "|")...)
			if !strings.Contains(story, "inside") && !strings.Contains(story, "get in") && !strings.Contains(story, "ever") &&
				!strings.Contains(story, "releases") {
				t.Fatalf("not found in %d states: %s", states, story)
			}
			t.Logf("found after %d states:\n%s", states, story)
		})
	}
}

type content struct{ *simFlock }

func (m content) In(search openfile.Search, pid int, careful bool) ([]int, bool) {
	if accept := search.Accept; accept != nil {
		hasOne := false
		search.Accept = func(pid, number int) bool {
			if !hasOne {
				accept(pid, number)
			}
			hasOne = true
			return true
		}
	}
	return m.simFlock.In(search, pid, careful)
}

type anyToken struct{ *simFlock }

func (m anyToken) Rename(old, new string) error {
	err := m.simFlock.Rename(old, new)
	if err != nil && old != free && strings.HasPrefix(new, busy) {
		for n := range m.world.names {
			if isToken(n) {
				return m.simFlock.Rename(n, new)
			}
		}
	}
	return err
}

type stubborn struct{ *simFlock }

func (m stubborn) Rename(old, new string) error {
	err := m.simFlock.Rename(old, new)
	if err != nil && strings.HasPrefix(old, busy) {
		return nil
	}
	return err
}

// A tardy one makes its record only when the token is free.
type tardy struct {
	*simFlock
	name string
}

func (m *tardy) Create(name string) error {
	m.name = name
	return nil
}

func (m *tardy) Rename(old, new string) error {
	err := m.simFlock.Rename(old, new)
	if m.name != "" && new == free {
		if err == nil {
			m.simFlock.Create(m.name)
		}
		m.name = ""
	}
	return err
}

// A hopeful one takes the token for free when it has made its record.
type hopeful struct {
	*simFlock
	made bool
}

func (m *hopeful) Create(name string) error {
	m.made = true
	return m.simFlock.Create(name)
}

func (m *hopeful) List() ([]string, error) {
	names, err := m.simFlock.List()
	if m.made {
		names = append(slices.DeleteFunc(names, isToken), free)
	}
	m.made = false
	return names, err
}

type optimist struct{ *simFlock }

func (optimist) Fate(owner) fate { return alive }

// ofProcess has the lock belong to the process that its record names as long as that has the file open.
func ofProcess(s *simFlock) contender { return processLock{s} }

type processLock struct{ *simFlock }

func (m processLock) At(search openfile.Search, p descriptor) openfile.State {
	search.Mark = openfile.None
	if m.simFlock.At(search, p) == openfile.Found {
		return openfile.Found
	}
	for n := range 20 {
		if m.simFlock.At(search, descriptor{p.pid, n}) == openfile.Found {
			return openfile.Found
		}
	}
	return openfile.Absent
}

func (m processLock) In(openfile.Search, int, bool) ([]int, bool) { return nil, true }
func (m processLock) Has(openfile.Mark) bool                      { return true }
func (m processLock) Processes() ([]int, error)                   { return nil, nil }
func (m processLock) Last() (int, error)                          { return 1, nil }
func (m processLock) CompareOurs(_ openfile.Search, p descriptor, _ bool) openfile.Comparison {
	if m.table[p.number] != nil && (p.pid == m.pid || p.pid == m.parent) {
		return openfile.Equal
	}
	return openfile.Different
}

// A hasty one does not notice that processes are made.
type hasty struct{ *simFlock }

func (hasty) Last() (int, error) { return 1, nil }

// An outdated one keeps the first list of processes.
type outdated struct {
	*simFlock
	pids []int
}

func (m *outdated) Processes() (pids []int, err error) {
	if m.pids == nil {
		m.pids, err = m.simFlock.Processes()
	}
	return m.pids, err
}
