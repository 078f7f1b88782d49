//go:build linux

package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A randomScript is a script of shells that open the lock file, move and close descriptors, lock, fork, execute and
// lose a flock to SIGKILL. Its processes run one at a time, so it has one outcome: the statuses that it prints.
type randomScript struct {
	*rand.Rand
	strings.Builder
	permits bool  // whether it has permits beside exclusive locks, and not shared ones
	made    int   // steps so far
	resting []int // the steps that leave a shell behind, which rests until it is to end
}

// newRandomScript returns the script of a number.
func newRandomScript(seed uint64, permits bool) string {
	s := &randomScript{Rand: rand.New(rand.NewPCG(seed, 0)), permits: permits}
	s.WriteString(`cat >lib <<'END'
rest() {
	echo $BASHPID >>pid$1; mkfifo go$1; : >at$1
	read <go$1
}
have_ended() {
	local pid
	for pid; do ! grep -qs '^State:.[^ZX]' /proc/$pid/task/*/status || return; done
}
END
declare -p top >>lib; declare -f await pause >>lib
. ./lib
`)
	s.block(0)
	for _, n := range s.resting {
		s.end(n)
	}
	s.WriteString("flock -n f true; echo \"end: $?\"\n")
	return s.String()
}

func (s *randomScript) oneOf(words ...string) string { return words[s.IntN(len(words))] }

// other is the kind of lock that the script has beside exclusive ones. Which of two open files is the one that is
// locked shared, and which has the permit, the directory lock cannot always tell; then it takes a permit for held.
func (s *randomScript) other() string {
	if s.permits {
		return "--permits 2"
	}
	return "-s"
}

// ofNumber returns what is done with the lock of a descriptor. One that has a permit keeps its byte natively, but not
// by directory, where a plain lock or -u follows: so there is neither.
func (s *randomScript) ofNumber() string {
	if s.permits {
		return s.oneOf("--permits 2", "--permits 2", "--permits 2 -u")
	}
	return s.oneOf("-x", "-s", "-x", "-s", "-u")
}

// number is a descriptor of the script's own: the lower ones are those of flock.
func (s *randomScript) number() int { return 30 + s.IntN(4) }
func (s *randomScript) line(format string, args ...any) {
	fmt.Fprintf(s, format+"\n", args...)
}

func (s *randomScript) block(depth int) {
	for range 2 + s.IntN(6) {
		if s.made < 80 {
			s.step(depth)
		}
	}
}

// flock returns a flock(1) that does not wait: of a descriptor, or of the file with a command.
func (s *randomScript) flock(depth, n int) string {
	if s.IntN(2) == 0 {
		return fmt.Sprintf("flock -n %s %d", s.ofNumber(), s.number())
	}
	mode := s.oneOf("-x", s.other())
	if s.IntN(4) == 0 {
		mode += " -o"
	}
	if depth > 2 || s.IntN(3) == 0 {
		return fmt.Sprintf("flock -n %s f true", mode)
	}
	s.line("cat >script%d <<'END%d'\n. ./lib", n, n)
	s.block(depth + 1)
	s.line("END%d", n)
	return fmt.Sprintf("flock -n %s f bash ./script%d", mode, n)
}

func (s *randomScript) step(depth int) {
	s.made++
	n := s.made
	kind := s.IntN(14)
	if depth > 2 {
		kind %= 8
	}
	switch kind {
	case 0, 1:
		ways := []string{">", ">>", "<>", "<"}
		if s.permits { // a permit of the kernel needs a descriptor that is open for writing, one by directory does not
			ways = ways[:3]
		}
		s.line("exec %d%sf", s.number(), s.oneOf(ways...))
	case 2:
		s.line("exec %d>&-", s.number())
	case 3:
		s.line("exec %d>&%d%s", s.number(), s.number(), s.oneOf("", "-"))
	case 4, 5, 6:
		s.line("%s; echo \"%d: $?\"", s.flock(depth, n), n)
	case 7:
		if len(s.resting) > 0 {
			s.end(s.resting[s.IntN(len(s.resting))])
		}
	case 8:
		s.line("(")
		s.block(depth + 1)
		s.line(":)")
	case 9:
		s.line("{")
		s.block(depth + 1)
		s.line(":; } %d>f", s.number())
	case 10, 11:
		s.line("(")
		s.block(depth + 1)
		s.line("rest %d) & await '[ -e at%d ]'", n, n)
		s.resting = append(s.resting, n)
	case 12:
		s.line("(exec %s); echo \"%d: $?\"", s.flock(depth, n), n)
	case 13:
		s.line("flock -n %s f bash -c '. ./lib; rest %d' & p=$!; echo $p >>pid%d; "+
			"await \"[ -e at%d ] || have_ended $p\"",
			s.oneOf("-x", s.other()), n, n, n)
		if s.IntN(3) > 0 {
			s.line("[ -e at%d ] && kill -9 $p; wait $p; echo \"%d: $?\"", n, n)
		}
		s.resting = append(s.resting, n)
	}
}

// end ends a shell that rests, if it was started, and has not been ended yet.
func (s *randomScript) end(n int) {
	s.line("[ -e at%d ] && rm at%d && : >go%d && await 'have_ended $(cat pid%d)'", n, n, n, n)
}

// agree reports whether the directory lock has given the kernel's answers. It may refuse a lock where one process has
// moved one of two open files that have the lock, and so what would have run under that; what follows is then another
// script.
func agree(kernel, directory string) bool {
	want, got := strings.Split(kernel, "\n"), strings.Split(directory, "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			step, refused := strings.CutSuffix(got[i], ": 1")
			hadLock := want[i] == step+": 0" || want[i] == step+": 137" // that one was killed when it had the lock
			ran := func(line string) bool { return strings.HasPrefix(line, step+": ") }
			return refused && (hadLock || slices.ContainsFunc(want[i+1:], ran))
		}
	}
	return len(want) == len(got)
}

// TestRandomScripts compares what random scripts say with kernel locks and with the directory lock. FLOCK_SEED is the
// number of the first one.
func TestRandomScripts(t *testing.T) {
	skipInCheck(t)
	needDirectoryLock(t)
	var seed uint64
	if text := os.Getenv("FLOCK_SEED"); text == "" {
		seed = rand.Uint64N(1e9)
	} else if _, err := fmt.Sscan(text, &seed); err != nil {
		t.Fatal(err)
	}
	reference := referencePath
	if reference == "" {
		reference = oursPath
	}
	judges := map[bool]*world{
		false: newModeWorld(t, "random-reference", reference),
		true:  newModeWorld(t, "random-native", oursPath),
	}
	directory := newModeWorld(t, "random-directory", oursPath)
	directory.env = append(directory.env, "FLOCK_BACKEND=directory")
	for _, w := range []*world{judges[false], judges[true], directory} {
		w.env = append(w.env, "AWAIT_TRIES=10000") // a shell that is awaited may run a long script first
	}
	run := func(t *testing.T, w *world, script string) string {
		got, err := w.run(compatCase{script: script})
		if err != nil {
			t.Fatal(err)
		}
		return got.stdout + "exit " + got.exit + "\n"
	}
	end := time.Now().Add(tortureDuration(t))
	for worker := range uint64(4) {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			tried := 0
			for n := seed + worker; time.Now().Before(end); n += 4 {
				permits := n%2 == 0
				script := newRandomScript(n, permits)
				want, got := run(t, judges[permits], script), run(t, directory, script)
				if !agree(want, got) {
					t.Fatalf("FLOCK_SEED=%d\n%s\nwith kernel locks:\n%s\nwith the directory lock:\n%s",
						n, script, want, got)
				}
				tried++
			}
			t.Log(tried, "scripts")
		})
	}
}
