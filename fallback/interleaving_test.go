package fallback

import (
	"os"
	"strings"
	"testing"
	"time"

	"example.org/flock/fallback/openfile"
)

// when says when a scenario runs.
type when int

const (
	inCheck   when = iota // in make check, too
	inTest                // from make test on
	inLong                // in make long; in make test a taste
	inTorture             // in make torture, and there for as long as it says; before, a taste
)

// A taste of a long scenario is so many of its states as can be reached in this time.
const taste = 100 * time.Millisecond

// isLong is true in make long and make torture.
var isLong = os.Getenv("FLOCK_TEST_LONG") != "" || os.Getenv("FLOCK_TORTURE") != ""

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
		{inCheck, "exclusive", rules{crashes: 1}, "X u|X u"},
		{inTest, "a lifeline is born", rules{crashes: 1, births: true}, "X u|x"},
		{inTorture, "lifelines are born", rules{crashes: 2, births: true}, "X u|X u"},
		{inTorture, "three exclusive", rules{crashes: 3}, "X u|X u|X u"},
		{inTorture, "two exclusive, one shared", rules{crashes: 3}, "X u|X u|S u"},
		{inCheck, "one exclusive, one shared", rules{crashes: 1}, "X u|S u"},
		{inTorture, "one exclusive, two shared", rules{crashes: 3}, "X u|S u|S u"},
		{inTorture, "two permits for three", rules{crashes: 3, permits: 2}, "P u|P u|P u"},
		{inTorture, "one permit, one shared, one exclusive", rules{crashes: 3, permits: 1}, "P u|S u|X u"},
		{inTest, "one permit for two", rules{crashes: 1, permits: 1}, "P u|P u"},
		{inTest, "two permits, one twice", rules{permits: 2}, "P P u|P u"},
		{inTorture, "trying", rules{crashes: 3}, "x u|x u|s u"},
		{inTorture, "one comes again", rules{crashes: 2}, "X u X u|X u|X u"},
		{inTorture, "two upgrades", rules{crashes: 2}, "S X u|S X u|X u"},
		{inTest, "upgrade beside shared", rules{}, "S X u|S u"},
		{inTest, "downgrade", rules{}, "X S u|X u"},
		{inTorture, "there and back", rules{crashes: 1}, "X S X u|X u|S u"},
		{inTorture, "to a permit and back", rules{crashes: 2, permits: 1}, "S P X u|P u|X u"},
		{inTorture, "torn listings", rules{crashes: 1, torn: true}, "X u|S u|X u"},
		{inTest, "torn listings of two", rules{torn: true}, "X u|X u"},
		{inTorture, "torn listings and conversions", rules{torn: true}, "X S u|X u|S X u"},
		// Commands, which inherit the lifeline.
		{inTorture, "two commands, one killed", rules{crashes: 1}, "X(work)|X(work)"},
		{inTest, "two commands", rules{}, "X(work)|X(work)"},
		{inTorture, "two commands, two killed", rules{crashes: 2}, "X(work)|X(work)"},
		{inTorture, "two commands, one shared, one killed", rules{crashes: 1}, "X(work)|S(work)"},
		{inTorture, "a child of a command keeps the lock", rules{}, "X(&(work) work)|X(work)"},
		{inTorture, "a child of a command keeps the lock, one is killed", rules{crashes: 1}, "X(&(work) work)|X(work)"},
		{inTest, "a command whose flock is killed", rules{}, "X(orphan work)|X(work)"},
		{inTorture, "no fork", rules{crashes: 1}, "FX(work)|FX(&(work) work)"},
		{inTorture, "permits of commands", rules{crashes: 2, permits: 2}, "P(work)|P(&(work) work)|P(work)"},
		// Open files of shells.
		{inTorture, "two shells", rules{}, "open9 X9 work u9|open9 X9 work u9"},
		{inLong, "two shells that try", rules{}, "open9 x9 u9|open9 x9 u9"},
		{inTorture, "two shells, one killed", rules{crashes: 1}, "open9 X9 work u9|open9 X9 work u9"},
		{inTorture, "exclusive and shared by number", rules{crashes: 1}, "open9 X9 work u9|open9 S9 work u9"},
		{inTorture, "a child locks, its parent ends", rules{}, "open9 &(X9 work) work|X(work)"},
		{inTorture, "a child locks, one is killed", rules{crashes: 1}, "open9 &(X9 work) work|X(work)"},
		{inTorture, "a child locks once more", rules{}, "open9 X9 &(X9 work) work|X(work)"},
		{inTorture, "a child upgrades", rules{crashes: 1}, "open9 S9 &(X9 work) work|S(work)"},
		{inTorture, "another file under the number", rules{}, "open9 X9 move9-7 open9 x9! close9 move7-9 work|X(work)"},
		{inLong, "another file under the number, unlocked", rules{},
			"open9 X9 move9-7 open9 u9 close9 move7-9 work|X(work)"},
		{inTest, "a child of a shell keeps the lock", rules{}, "open9 X9 &(work) work|X(work)"},
		{inLong, "from child to child", rules{}, "open9 X9 &(&(work) work) work|X(work)"},
		{inCheck, "a child that has the lock tries for itself", rules{}, "open9 X9 &(x work) close9"},
		{inCheck, "a shell has one open file under two numbers", rules{}, "open9 S9 &(work) open8 S8 copy8-9 x8 work"},
		{inCheck, "a shell closes one of two", rules{}, "open8 S8 open9 S9 close8 x9+ work"},
		{inCheck, "a child has the one that its shell closes", rules{}, "open8 S8 open9 S9 &(work) close8 x9 work"},
		{inCheck, "a shell moves one of two", rules{}, "open8 S8 open9 S9 move8-7 x9! work"},
		{inCheck, "a shell moves one of two over the other", rules{}, "open8 S8 &(work) open9 S9 move9-8 x8 work"},
		{inCheck, "no kcmp: a shell closes one of two", rules{noKcmp: true}, "open8 S8 open9 S9 close8 x9! work"},
		{inCheck, "closed and opened again", rules{}, "open9 X9 close9 open8 x8+ work"},
		{inCheck, "two are lost, and children have both", rules{}, "sub(open9 S9 &(work)) sub(open9 S9 &(work)) open8 x8 work"},
		{inLong, "two are lost, one is waited for", rules{}, "sub(open9 S9 &(work)) sub(open9 S9 &(work)) open8 X8 work"},
		{inLong, "two are lost, and one waits beside a reader", rules{}, "sub(open9 S9 &(work)) sub(open9 S9) X(work)|s u"},
		{inCheck, "locked again and again", rules{}, "open9 S9 close9 open9 S9 close9 open9 S9 close9 open8 x8+ work"},
		{inTorture, "two permits of one shell", rules{permits: 2}, "open8 open9 P8 P9 close8 work|P(work)"},
		{inTorture, "upgrade by number", rules{crashes: 1}, "open9 S9 X9 work u9|S(work)"},
		{inTorture, "downgrade by number", rules{crashes: 1}, "open9 X9 S9 work u9|X(work)"},
		{inLong, "a number and a command", rules{}, "open9 X9 work|X(work)"},
		{inTorture, "a number and a command, killed", rules{crashes: 2}, "open9 X9 work|X(work)|X(work)"},
		// Where nothing tells that two descriptors are one open file.
		{inLong, "no kcmp: two shells", rules{noKcmp: true}, "open9 X9 work u9|open9 X9 work u9"},
		{inTorture, "no kcmp: a child locks once more", rules{noKcmp: true, crashes: 1},
			"open9 X9 &(X9 work) work|X(work)"},
		{inLong, "no kcmp: another file under the number", rules{noKcmp: true},
			"open9 X9 move9-7 open9 x9! close9 move7-9 work|X(work)"},
		// Other machines, other mounts, another boot.
		{inCheck, "two machines", rules{}, "X u|far X u"},
		{inTorture, "two machines, shared", rules{}, "X S u|far S u|far X u"},
		{inCheck, "two mounts", rules{}, "X(work)|mounted X(work)"},
		{inTest, "two machines with descriptors", rules{}, "open9 X9 u9|far open9 X9 u9"},
		// Users, pid namespaces, and process ids that come again.
		{inCheck, "another user's, who has ended", rules{}, "sub(as1 open9 X9) open8 x8+ work"},
		{inCheck, "another user's, whose child has it", rules{}, "sub(as1 open9 X9 &(work)) open8 x8 work"},
		{inCheck, "another user's, beside an older process of that user", rules{},
			"&(as1 work work) sub(as1 open9 X9) open8 x8+"},
		{inCheck, "the id comes again, as another user's", rules{reuse: true},
			"sub(open9 X9) &(as1 work work) open8 x8+"},
		{inCheck, "the id comes again", rules{reuse: true}, "sub(open9 X9 &(work)) &(work work) open8 x8 work"},
		{inCheck, "the namespace has another number", rules{}, "sub(ns7-1 open9 X9) ns8-1 open8 x8! work"},
		{inCheck, "the number of a namespace comes again", rules{}, "sub(ns7-1 open9 X9 &(work)) ns7-2 open8 x8! work"},
		{inCheck, "root sees into all namespaces", rules{seesAll: true}, "sub(ns7-1 as1 open9 X9) open8 x8+ work"},
		{inCheck, "root sees who has it in another namespace", rules{seesAll: true},
			"sub(ns7-1 as1 open9 X9 &(work)) open8 x8 work"},
		// Operations that fail: a full disk, a server that is gone.
		{inTest, "an operation fails", rules{faults: 1}, "X u|X u"},
		{inTorture, "an operation fails, shared and exclusive", rules{faults: 1}, "S X u|x u"},
		{inLong, "an operation fails, by number", rules{faults: 1}, "open9 X9 u9|x u"},
		{inTorture, "an operation fails, by number, and another is killed", rules{faults: 1, crashes: 1},
			"open9 X9|x u"},
		{inTorture, "two operations fail", rules{faults: 2}, "X u|X u|X u"},
		{inTorture, "operations fail and contenders are killed", rules{faults: 2, crashes: 2}, "X u|X u|S u"},
		{inTorture, "operations of commands fail", rules{faults: 2, crashes: 1}, "X(&(work) work)|X(work)"},
		{inCheck, "another boot", rules{}, "X(work)|boot X(work)"},
		{inTorture, "another boot, and a number", rules{}, "open9 X9 work|boot X(work)|X(work)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := false
			switch {
			case testing.Short() && c.when > inCheck:
				t.Skip("not in make check")
			case c.when == inTorture && long > 0:
				c.rules.until = time.Now().Add(long)
			case c.when == inTorture, c.when == inLong && !isLong:
				c.rules.until = time.Now().Add(taste)
			default:
				whole = true
			}
			states, story := explore(c.rules, strings.Split(c.scripts, "|")...)
			if story != "" {
				t.Fatal("\n" + story)
			}
			if !whole && time.Now().After(c.rules.until) {
				t.Logf("%d states, not all", states)
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

// TestEveryInterleavingFindsMutants leaves out what looks as if it could be left out. Each has to be found, or the test
// above would prove nothing.
func TestEveryInterleavingFindsMutants(t *testing.T) {
	for _, c := range []struct {
		when    when
		name    string
		rules   rules
		scripts string
		wrap    func(*simFlock) system
	}{
		{inTest, "a lifeline is born under the name of a waiter", rules{crashes: 1, births: true}, "X u|X u",
			func(s *simFlock) system { return &hastyBirth{simFlock: s} }},
		{inTest, "the lifelines of other machines are believed", rules{}, "X(work)|far X(work)",
			func(s *simFlock) system { return credulous{s} }},
		{inTest, "the lifelines of other mounts are believed", rules{}, "X(work)|mounted X(work)",
			func(s *simFlock) system { return credulous{s} }},
		{inLong, "the mark comes before the record", rules{crashes: 1}, "open9 &(X9) X9 work|open9 X9 work",
			func(s *simFlock) system { return &markFirst{simFlock: s} }},
		{inLong, "the record goes before the mark", rules{crashes: 1}, "open9 X9 u9 X9 work|open9 X9 work",
			func(s *simFlock) system { return &recordFirst{simFlock: s} }},
		{inTest, "refusals are passed over", rules{}, "sub(as1 open9 X9 &(work)) open8 x8 work",
			func(s *simFlock) system { return unimpressed{s} }},
		{inTest, "the number of a namespace is believed", rules{}, "sub(ns7-1 open9 X9 &(work)) ns7-2 open8 x8! work",
			func(s *simFlock) system { return forgetful{s} }},
		{inTest, "a process id is believed", rules{reuse: true}, "sub(open9 X9) &(as1 work work) open8 x8+",
			func(s *simFlock) system { return timeless{s} }},
		{inTest, "nobody looks for the dead", rules{crashes: 1}, "X u|X u",
			func(s *simFlock) system { return optimist{s} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.when == inLong && !isLong || testing.Short() {
				t.Skip("only in make long")
			}
			c.rules.wrap = c.wrap
			states, story := explore(c.rules, strings.Split(c.scripts, "|")...)
			if !strings.Contains(story, "inside") && !strings.Contains(story, "get in") &&
				!strings.Contains(story, "ever") {
				t.Fatalf("not found in %d states: %s", states, story)
			}
			t.Logf("found after %d states:\n%s", states, story)
		})
	}
}

// A hastyBirth makes a lifeline under the name that a waiter has.
type hastyBirth struct {
	*simFlock
}

func asWaiter(name string) string {
	return waitName + strings.TrimPrefix(name, newName) + "@" + exclName
}

func (m *hastyBirth) Make(name string) error { return m.simFlock.Make(asWaiter(name)) }

func (m *hastyBirth) OpenLifeline(name string) (lifeline, error) {
	return m.simFlock.OpenLifeline(asWaiter(name))
}

func (m *hastyBirth) Rename(old, new string) error {
	if strings.HasPrefix(old, newName) {
		return nil
	}
	return m.simFlock.Rename(old, new)
}

// A credulous one takes all machines and mounts for its own.
type credulous struct{ *simFlock }

func (m credulous) List() ([]string, error) {
	names, err := m.simFlock.List()
	for i, name := range names {
		names[i] = strings.NewReplacer(",far,far,far,", ",h,m,0,", ",mounted", ",d").Replace(name)
	}
	return names, err
}

func (m credulous) Machine() machine { return simMachine("0") }

func (m credulous) Ask(name string) answer {
	for _, other := range []string{
		name, strings.Replace(name, ",h,m,0,", ",far,far,far,", 1), strings.Replace(name, ",d", ",mounted", 1),
	} {
		if m.world.names[other] != nil {
			return m.simFlock.Ask(other)
		}
	}
	return noName
}

// A markFirst makes the record of an open file only when that is marked.
type markFirst struct {
	*simFlock
	name string
}

func (m *markFirst) Make(name string) error {
	if strings.HasPrefix(name, newName) {
		return m.simFlock.Make(name)
	}
	m.name = name
	return nil
}

func (m *markFirst) Mark(signal int, is openfile.Mark) error {
	m.simFlock.Mark(signal, is)
	return m.simFlock.Make(m.name)
}

// A recordFirst removes the record of an open file before it takes the mark away.
type recordFirst struct {
	*simFlock
	isMarked bool
}

func (m *recordFirst) Unmark() { m.isMarked = true }

func (m *recordFirst) Remove(name string) error {
	err := m.simFlock.Remove(name)
	if m.isMarked {
		m.simFlock.Unmark()
	}
	m.isMarked = false
	return err
}

type optimist struct{ *simFlock }

func (optimist) Ask(string) answer { return hasReader }

// An unimpressed one does not mind that it may not look into processes.
type unimpressed struct{ *simFlock }

func (m unimpressed) Search(q openfile.Query) openfile.View {
	v := m.simFlock.Search(q)
	v.Refused = nil
	return v
}

// A forgetful one takes each pid namespace of one number for the same.
type forgetful struct{ *simFlock }

func (m forgetful) Machine() machine {
	is := m.simFlock.Machine()
	is.pidNS.start1 = "1"
	return is
}

// Processes of another namespace are not there.
func (m forgetful) Search(openfile.Query) openfile.View {
	return openfile.View{Certain: true, Complete: true}
}

// A timeless one does not look at when a process was started.
type timeless struct{ *simFlock }

func (m timeless) At(f *openfile.File, _ bool) openfile.Answer { return m.simFlock.At(f, false) }
