package fallback

import (
	"io/fs"
	"strings"
	"testing"
)

// The ways in which scripts usually take over a stale lock, with everything in their favour: the clock and the process
// table never mislead them, "old" means that the maker really is dead. Each still lets two in, since between judging a
// lock and removing it the name comes to stand for another one.
func TestStaleLockRecipesLetTwoIn(t *testing.T) {
	for name, recipe := range map[string]func(a *actor) bool{
		"mkdir, and rm of an old one": func(a *actor) bool {
			if a.Create("lock") == nil {
				return true
			}
			if a.old("lock") {
				a.Remove("lock")
			}
			return false
		},
		"mkdir, and an old one moved aside": func(a *actor) bool {
			if a.Create("lock") == nil {
				return true
			}
			if a.old("lock") && a.Rename("lock", "stale."+a.name()) == nil {
				a.Remove("stale." + a.name())
			}
			return false
		},
		"a symbolic link with a time in it": func(a *actor) bool {
			if a.write("lock", a.name()) == nil { // ln -s is atomic, text and all
				return true
			}
			if maker, ok := a.read("lock"); ok && a.deadMaker(maker) {
				a.Remove("lock")
			}
			return false
		},
		"a pid file with kill -0": func(a *actor) bool {
			if maker, ok := a.read("lock"); ok {
				if !a.deadMaker(maker) {
					return false
				}
				a.Remove("lock")
			}
			return a.write("lock", a.name()) == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := func(a *actor) {
				for range 4 {
					if recipe(a) {
						a.table[1] = &simFile{lock: Exclusive}
						a.world.tell(a, "is inside")
						a.step("leaves")
						a.table[1].lock = 0
						a.Remove("lock")
						return
					}
				}
			}
			states, story := explore(rules{crashes: 1, script: script}, "", "", "")
			if !strings.Contains(story, "inside at once") {
				t.Fatalf("not found to be broken in %d states: %s", states, story)
			}
			t.Logf("broken, found after %d states:\n%s", states, story)
		})
	}
}

// old reports whether the lock is older than anybody holds one.
func (a *actor) old(name string) bool {
	a.step("looks how old " + name + " is")
	_, there := a.world.names[name]
	old := there && !a.world.processes[a.world.maker[name]-1].alive
	a.saw(yesno(old))
	return old
}

func (a *actor) deadMaker(maker string) bool {
	a.step("asks whether " + maker + " lives")
	d := !a.world.processes[int(maker[0]-'A')].alive
	a.saw(yesno(!d))
	return d
}

func (a *actor) write(name, text string) error {
	a.step("makes " + name)
	if _, there := a.world.names[name]; there {
		a.saw("exists")
		return fs.ErrExist
	}
	a.world.names[name], a.world.text[name] = new(simName), text
	a.changed()
	a.saw("done")
	return nil
}

func (a *actor) read(name string) (string, bool) {
	a.step("reads " + name)
	_, there := a.world.names[name]
	a.saw(a.world.text[name])
	return a.world.text[name], there
}
