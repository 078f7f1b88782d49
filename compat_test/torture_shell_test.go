//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The torture of the directory lock in shells: scripts lock a descriptor, 9, in all the ways that scripts do, leave
// children behind, move and close descriptors, and are killed in the middle. The kernel is the judge. Each script opens
// a second file as descriptor 8, which every process gets and loses as it does 9. Whoever has the directory lock takes
// the kernel's lock on 8, which nobody may have then: where somebody does, the directory lock has ended before the
// kernel's would have.

// judge runs in a script that has got the directory lock. It takes the kernel's lock on descriptor 8.
func judge(how int) {
	for {
		if unix.Flock(8, how|unix.LOCK_NB) == nil {
			return
		}
		// A process that is ending shows no descriptors any more but may have the lock for a moment.
		if who := lockedIn("g"); who != "" {
			noteIn("violations", fmt.Sprintf("%s (process %d) got the lock, and this has the kernel's:\n%s",
				os.Getenv("SCRIPT"), os.Getppid(), who))
			return
		}
	}
}

// lockedIn returns what /proc shows of a process that has the kernel's lock on a file, or "".
func lockedIn(name string) string {
	var stat unix.Stat_t
	if unix.Stat(name, &stat) != nil {
		return ""
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/fd/8")
	for _, path := range paths {
		var other unix.Stat_t
		if unix.Stat(path, &other) != nil || other.Ino != stat.Ino {
			continue
		}
		process := filepath.Dir(filepath.Dir(path))
		if text, _ := os.ReadFile(process + "/fdinfo/8"); strings.Contains(string(text), "\nlock:") {
			words, _ := os.ReadFile(process + "/cmdline")
			environment, _ := os.ReadFile(process + "/environ")
			_, script, _ := strings.Cut(string(environment), "\x00SCRIPT=")
			script, _, _ = strings.Cut(script, "\x00")
			return fmt.Sprintf("%s: %s %q\n%s", script, process, words, text)
		}
	}
	return ""
}

func init() {
	if len(os.Args) != 3 || os.Args[1] != "judge" {
		return
	}
	switch os.Args[2] {
	case "ex":
		judge(unix.LOCK_EX)
	case "sh":
		judge(unix.LOCK_SH)
	case "un":
		unix.Flock(8, unix.LOCK_UN)
	case "work":
		longest := 4 * time.Millisecond
		if rand.N(6) == 0 {
			longest = 100 * time.Millisecond
		}
		time.Sleep(rand.N(longest))
		noteIn("done", fmt.Sprint(os.Getpid()))
	}
	os.Exit(0)
}

// shellScripts are the scripts. "judge ex" and "judge sh" follow a lock that was got, "judge un" comes before one is
// given up.
var shellScripts = map[string]string{
	"plain": `flock 9 || exit; judge ex; judge work`,
	"unlocked": `flock 9 || exit; judge ex; judge work; judge un || exit; ` +
		`flock -u 9; flock -s 9 || exit; judge sh; judge work`,
	"subshell":      `( timeout 30 flock 9 || exit; judge ex; judge work ) & exit`,
	"subshell-fd":   `( flock --fd 9 true || exit; judge ex; judge work ) & exit`,
	"substitution":  `x=$(flock -n 9 && echo yes); [ "$x" = yes ] || exit; judge ex; judge work`,
	"middle":        `( ( flock 9 || exit; judge ex; judge work ); judge work ) & exec 8>&- 9>&-; wait`,
	"child-keeps":   `flock 9 || exit; judge ex; judge work & exec 8>&- 9>&-; sleep .01`,
	"child-of-many": `flock 9 || exit; judge ex; for i in 1 2 3; do judge work & done; exit`,
	"nested": `flock 9 || exit; judge ex; { flock -n 9 && echo nested >>violations; } 9>>f; ` +
		`{ flock -u 9; } 9>>f; judge work`,
	"moved": `flock 9 || exit; judge ex; f() { :; }; i=0; ` +
		`while [ $i -lt 300 ]; do f 9>/dev/null; i=$((i+1)); done`,
	"other-number": `flock 9 || exit; judge ex; exec 7>&9 9>&-; judge work; ` +
		`judge un || exit; flock -u 7; flock 7 || exit; judge ex; judge work`,
	"closed":     `flock 9 || exit; judge ex; judge work; exec 8>&- 9>&-; flock -w 30 f true`,
	"by-a-child": `flock 9 || exit; judge ex; judge work; ( judge un || exit; flock -u 9 ); judge work`,
	"upgrade": `flock -s 9 || exit; judge sh; judge work; judge un || exit; ` +
		`( flock 9 || exit; judge ex; judge work ) & exit`,
	"downgrade": `flock 9 || exit; judge ex; judge work; judge sh || exit; ( flock -s 9 ) || exit; judge work`,
	"again":     `flock 9 || exit; judge ex; ( flock 9 && judge work ) & exit`,
	"shared":    `( flock -s 9 || exit; judge sh; judge work ) & judge work; exec 8>&- 9>&-`,
	"command":   `exec 9>&-; exec flock f sh -c 'judge ex; judge work'`,
	"daemon":    `exec 9>&-; exec flock f sh -c 'judge ex; judge work & exit'`,
	"no-fork":   `exec 9>&-; exec flock -F -s f sh -c 'judge sh; judge work'`,
	"reopened": `flock 9 || exit; judge ex; judge work; judge un || exit; ` +
		`exec 9>>f; flock 9 || exit; judge ex; judge work`,
}

func TestTortureInShells(t *testing.T) {
	skipInCheck(t)
	needDirectoryLock(t)
	var shells [][]string
	for _, shell := range [][]string{{"bash"}, {"dash"}, {"zsh"}, {"busybox", "sh"}} {
		if path, err := exec.LookPath(shell[0]); err == nil {
			shells = append(shells, append([]string{path}, shell[1:]...))
		}
	}
	bin := t.TempDir()
	judge := []byte("#!/bin/sh\nexec " + selfPath(t) + " judge \"$@\"\n")
	if err := os.WriteFile(filepath.Join(bin, "judge"), judge, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Parallel() // when judge is written: see TestRecipes
	for _, kcmp := range []bool{true, false} {
		t.Run(map[bool]string{true: "with kcmp", false: "without kcmp"}[kcmp], func(t *testing.T) {
			if !kcmp && !canForbidKcmp() {
				t.Skip("kcmp(2) cannot be forbidden here")
			}
			tortureInShells(t, shells, bin, kcmp)
		})
	}
}

func tortureInShells(t *testing.T, shells [][]string, bin string, kcmp bool) {
	dir, self := t.TempDir(), selfPath(t)
	env := append(os.Environ(), "FLOCK_BACKEND=directory",
		"PATH="+bin+":"+filepath.Dir(oursPath)+":"+os.Getenv("PATH"))
	end := time.Now().Add(tortureDuration(t))
	var names []string
	for name := range shellScripts {
		names = append(names, name)
	}
	var runs, kills atomic.Int64
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for (time.Now().Before(end) || runs.Load() < 30) && !t.Failed() {
				name := names[rand.N(len(names))]
				shell := shells[rand.N(len(shells))]
				words := append(append([]string{}, shell...), "-c", "exec 9>>f 8>>g\n"+shellScripts[name])
				if !kcmp {
					words = append([]string{self, "without-kcmp"}, words...)
				}
				c := exec.Command(words[0], words[1:]...)
				c.Dir, c.Env = dir, append(slices.Clip(env), "SCRIPT="+name)
				c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
				victim := 0
				if rand.N(3) == 0 {
					time.Sleep(rand.N(40 * time.Millisecond))
					all := append([]int{c.Process.Pid}, descendants(c.Process.Pid)...)
					victim = all[rand.N(len(all))]
					unix.Kill(victim, unix.SIGKILL)
					kills.Add(1)
				}
				late := time.AfterFunc(tortureBound, func() {
					t.Errorf("%v, %s: process %d does not end; in the state directory %q; here are\n%s", shell, name,
						c.Process.Pid, namesIn(t, filepath.Join(dir, ".f.flock")), processesOf(-1, dir))
					unix.Kill(-c.Process.Pid, unix.SIGKILL)
				})
				c.Wait()
				late.Stop()
				group.Go(func() { awaitGroup(t, c.Process.Pid) })
			}
		})
	}
	group.Wait()
	final := exec.Command(oursPath, "-w", "60", "f", "flock", "-w", "60", "g", "true")
	final.Dir, final.Env = dir, env
	if out, err := final.CombinedOutput(); err != nil {
		t.Errorf("the lock is not free at the end: %v %s", err, out)
	}
	if names := namesIn(t, filepath.Join(dir, ".f.flock")); len(names) != 1 || names[0] != "free" {
		t.Errorf("left: %q", names)
	}
	violations, _ := os.ReadFile(filepath.Join(dir, "violations"))
	if len(violations) > 0 {
		t.Errorf("the lock was broken:\n%s", violations)
	}
	done, _ := os.ReadFile(filepath.Join(dir, "done"))
	t.Logf("%d scripts, %d killed; %d sections finished", runs.Load(), kills.Load(), strings.Count(string(done), "\n"))
	if len(done) == 0 {
		t.Error("no section was ever finished")
	}
}

// awaitGroup waits until what a killed script has left behind has ended, too.
func awaitGroup(t *testing.T, group int) {
	for end := time.Now().Add(tortureBound); unix.Kill(-group, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			unix.Kill(-group, unix.SIGKILL)
			t.Errorf("what script %d has left behind does not end", group)
			return
		}
	}
}
