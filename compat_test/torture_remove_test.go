//go:build linux

package compat_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The torture test of --remove: the lock file is made and removed all the time, while flock and its commands are
// killed.

const removers = 16 // flock commands at a time

// removals are ways to run the critical section under a lock whose file is removed afterwards.
var removals = []form{
	{"command", aroundCommand("--remove"), []fault{killFlock, killCommand, killBoth, killCommandFirst}},
	{"string", func(options, section []string) []string {
		return slices.Concat([]string{oursPath, "--remove"}, options,
			[]string{"f", "-c", "exec " + strings.Join(section, " ")})
	}, []fault{killFlock, killCommand, killBoth, killCommandFirst}},
	{"close", aroundCommand("--remove", "--close"), []fault{killCommand, killCommandFirst}},
	// the child has the lock when flock and its command have ended
	{"background", func(options, section []string) []string {
		return slices.Concat([]string{oursPath, "--remove"}, options,
			[]string{"f", "sh", "-c", `"$@" &`, "sh"}, section)
	}, []fault{killFlock, killCommand, killBoth, killCommandFirst}},
}

// naiveRemoval is how it is done without --remove.
var naiveRemoval = form{"naive", func(options, section []string) []string {
	return []string{"/bin/sh", "-c",
		strings.Join(slices.Concat([]string{oursPath}, options, []string{"f"}, section), " ") + "; rm -f f"}
}, []fault{noFault}}

// TestTortureRemove runs for some seconds each way, and as long as FLOCK_TORTURE says.
func TestTortureRemove(t *testing.T) {
	skipInCheck(t)
	long := tortureDuration(t)
	runEachBackend(t, func(t *testing.T, dir string, env []string) {
		ways := removals
		if strings.HasSuffix(t.Name(), "/directory") { // whose lock ends with the command
			ways = removals[:3]
		}
		if text := tortureRemovals(t, dir, env, ways, long); text != "" {
			t.Error("two were inside:\n", text)
		}
		// A killed flock leaves the file, and one whose supervisor was killed may yet make it.
		for end := time.Now().Add(tortureBound); ; {
			waitForScript(t, startScript(t, dir, env, "flock --remove -w 30 f true"))
			names := namesIn(t, dir)
			if len(names) == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("left in the end: %q", names)
			}
		}
	})
}

// TestTortureNaiveRemoval shows that the same torture finds two inside where they can be.
func TestTortureNaiveRemoval(t *testing.T) {
	skipInCheck(t)
	needOurs(t)
	env := append(os.Environ(), "FLOCK_BACKEND=native")
	if tortureRemovals(t, t.TempDir(), env, []form{naiveRemoval}, tortureBound) == "" {
		t.Error("flock f command; rm f: never were two inside")
	}
}

// tortureRemovals has many run critical sections, and returns what was found when two were inside. That ends it.
func tortureRemovals(t *testing.T, dir string, env []string, ways []form, long time.Duration) (violations string) {
	ground := newTortureGround(t, dir, env)
	defer ground.reaper.stop()
	end := time.Now().Add(long)
	var runs, removed atomic.Int64
	var file atomic.Pointer[os.FileInfo] // the lock file when it was last seen
	enough := func() bool { return removed.Load() > 0 && len(ground.unfinished()) == 0 }
	var group sync.WaitGroup
	for range removers {
		group.Go(func() {
			for !t.Failed() && ground.violations() == "" && goOn(end, enough) {
				way := ways[rand.N(len(ways))]
				mode := []string{"exclusive", "exclusive", "shared", "permit"}[rand.N(4)]
				p, err := ground.start(way, mode)
				if err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
				s := noFault
				if rand.N(3) == 0 {
					s = way.faults[rand.N(len(way.faults))]
				}
				if rand.N(2) == 0 {
					time.Sleep(rand.N(60 * time.Millisecond))
				}
				p.inject(s)
				p.mustEnd(t, end, s == noFault, fmt.Sprintf("%s, %s, %s", way.name, mode, s))
				info, err := os.Stat(filepath.Join(dir, "f"))
				if errors.Is(err, fs.ErrNotExist) {
					removed.Add(1)
				} else if last := file.Swap(&info); err == nil && last != nil && !os.SameFile(*last, info) {
					removed.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d runs, after %d of them no file or another one; %d sections finished",
		runs.Load(), removed.Load(), ground.finished())
	ground.checkOutput(t)
	if text := ground.violations(); text != "" {
		return text
	}
	if !enough() {
		t.Errorf("the file was removed %d times, and no section was ever finished: %q",
			removed.Load(), ground.unfinished())
	}
	return ""
}
