package cli

import (
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

func shell(text string) []string { return []string{"sh", "-c", text} }

func environment(backend string) func(string) (string, bool) {
	return func(name string) (string, bool) { return backend, backend != "" && name == "FLOCK_BACKEND" }
}

// TestParseForeign gives flock backends that it does not know.
func TestParseForeign(t *testing.T) {
	for _, c := range []struct{ args, variable, name, source string }{
		{"--backend etcd lock true", "", "etcd", "--backend"},
		{"--backend=etcd lock true", "", "etcd", "--backend"},
		{"--backend 3a lock true", "native", "3a", "--backend"},
		{"-n --back etcd --help", "", "etcd", "--backend"},
		{"--backend etcd --option-of-its-own", "", "etcd", "--backend"},
		{"--backend etcd -w x --backend native", "", "etcd", "--backend"},
		{"--backend native --backend etcd", "", "etcd", "--backend"},
		{"--holders --backend etcd lock", "", "etcd", "--backend"},
		{"--backend etcd", "", "etcd", "--backend"},
		{"-n lock true", "etcd", "etcd", "FLOCK_BACKEND"},
		{"9", "etcd", "etcd", "FLOCK_BACKEND"},
		{"--holders lock", "etcd", "etcd", "FLOCK_BACKEND"},
	} {
		o, err := Parse(append([]string{"flock"}, strings.Fields(c.args)...), environment(c.variable), shell)
		switch {
		case err != nil:
			t.Errorf("%s, FLOCK_BACKEND=%s: %v", c.args, c.variable, err)
		case o.Backend != Other || o.BackendName != c.name || o.BackendSource != c.source:
			t.Errorf("%s, FLOCK_BACKEND=%s: %d, %q, %q", c.args, c.variable, o.Backend, o.BackendName, o.BackendSource)
		}
	}
}

// TestParseNotForeign gives flock command lines that it answers itself although a backend that it does not know is set.
func TestParseNotForeign(t *testing.T) {
	for _, c := range []struct {
		args, variable string
		action         Action
		text           string
	}{
		{"--backend auto lock true", "etcd", Lock, ""},
		{"--backend directory lock true", "etcd", Lock, ""},
		{"--help --backend etcd", "", Help, ""},
		{"--help", "etcd", Help, ""},
		{"-n --version", "etcd", Version, ""},
		{"lock --backend etcd", "auto", Lock, ""},
		{"", "etcd", Lock, "not enough arguments"},
		{"--command=x lock true", "etcd", Lock, "unrecognized option '--command=x'"},
		{"--close=x lock true", "etcd", Lock, "unrecognized option '--close=x'"},
		{"-z lock true", "etcd", Lock, "unrecognized option '-z'"},
		{"--fcntl lock true", "etcd", Lock, "--fcntl, --start and --length cannot be combined with the backend etcd"},
		{"-w x --backend etcd", "", Lock, "invalid timeout: 'x'"},
		{"--backend", "etcd", Lock, "option '--backend' requires an argument"},
		{"--backend Etcd lock true", "", Lock,
			"invalid backend in --backend: 'Etcd' (auto, native, flock, fcntl or directory)"},
		{"--backend ../x lock true", "", Lock,
			"invalid backend in --backend: '../x' (auto, native, flock, fcntl or directory)"},
		{"lock true", "a-b", Lock, "invalid backend in FLOCK_BACKEND: 'a-b' (auto, native, flock, fcntl or directory)"},
	} {
		o, err := Parse(append([]string{"flock"}, strings.Fields(c.args)...), environment(c.variable), shell)
		text := ""
		var usage *failure.Error
		if errors.As(err, &usage) {
			text = usage.Text
		}
		if text != c.text || err == nil && (o.Backend == Other || o.Action != c.action) {
			t.Errorf("%q, FLOCK_BACKEND=%s: %+v, %q, want %q", c.args, c.variable, o, text, c.text)
		}
	}
}

// TestNextReport follows the pauses between the reports of --report.
func TestNextReport(t *testing.T) {
	for _, pauses := range [][]time.Duration{
		{0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{5 * time.Minute, 5 * time.Minute},
		{time.Hour, time.Hour, time.Hour},
		{math.MaxInt64, math.MaxInt64},
	} {
		o := Options{ReportAfter: pauses[0]}
		for i, pause := range pauses[1:] {
			if got := o.NextReport(pauses[i]); got != pause {
				t.Errorf("--report %v: %v after %v, want %v", pauses[0], got, pauses[i], pause)
			}
		}
	}
}

// TestHints reads command lines with common mistakes.
func TestHints(t *testing.T) {
	for args, want := range map[string]string{
		"-w 5s f true":          "did you mean 5?",
		"--wait=.5m f true":     "did you mean 30?",
		"--cooldown 10m f true": "did you mean 600?",
		"--report 1.5h f true":  "did you mean 5400?",
		"-w 2d f true":          "did you mean 172800?",
		"-w 5x f true":          "",
		"-w s f true":           "",
		"-w -5s f true":         "",
		"-w nan f true":         "",
		"-w infs f true":        "",
		"-w 1e308d f true":      "",
		"-w -1 f true":          "without -w",
		"--timeout=-0.5 f true": "without -w",
		"--cooldown -1 f true":  "",
		"-cx f":                 "-c <string>",
		"-nc x f":               "-c <string>",
		"--command=x f":         "-c <string>",
		"f":                     failure.Program + " <file> <command>",
		"--n f true":            "is ambiguous",
		"--coold 5 f true":      "'--coold' is ambiguous: --cooldown, --cooldown-from",
		"--co f true":           "",
		"-u f":                  failure.Program + " -u 9",
		"-nonblock f true":      "did you mean --nonblock",
		"-exclusive f true":     "did you mean --exclusive?",
		"-close f true":         "did you mean --close?",
		"-wait 5 f true":        "did you mean --wait?",
		"-nb f true":            "did you mean --nb?",
		"-fd 9 true":            "did you mean --fd?",
		"--no-block f true":     "did you mean -n?",
		"--try f true":          "did you mean -n?",
		"-t 5 f true":           "did you mean -w <seconds>?",
		"-k f true":             "without an option",
		"-w=5 f true":           "-w 5",
		"-nw=5 f true":          "-nw 5",
		"-E=75 f true":          "-E 75",
		"-z f true":             "",
		"-v f true":             "did you mean --verbose?",
		"-n9":                   "",
		"--limits 5 f true":     "",
		"-n -c date":            "-c goes after the file",
		"-c date":               "-c goes after the file",
		"f -c echo hi":          "-c 'echo hi'",
		"--fd 9 -c echo hi":     "-c 'echo hi'",
		"f -c echo it's":        "-c '...'",
		"f -c -n true":          "options go before the file",
		"f -c":                  "",
		"-w 1,5 f true":         "did you mean 1.5?",
		"--report 0,5 f true":   "did you mean 0.5?",
		"-w 1,5,5 f true":       "",
		"-w -1,5 f true":        "",
	} {
		_, err := Parse(append([]string{"flock"}, strings.Fields(args)...), environment(""), shell)
		var usage *failure.Error
		if !errors.As(err, &usage) || !strings.Contains(usage.Hint, want) || want == "" && usage.Hint != "" {
			t.Errorf("flock %s: %v, %+v", args, err, usage)
		}
	}
}

func TestCommandHint(t *testing.T) {
	if hint := (&Options{ByShell: true}).CommandHint("/bin/sh -x", syscall.ENOENT); hint != "" {
		t.Errorf("SHELL='/bin/sh -x': %q", hint)
	}
	for _, c := range []struct {
		command string
		err     error
		want    string
	}{
		{"--", syscall.ENOENT, failure.Program + " [options] -- <file> <command>"},
		{"-n", syscall.ENOENT, failure.Program + " [options] <file> <command>"},
		{"--shared", syscall.ENOENT, failure.Program + " [options] <file> <command>"},
		{"-cx", syscall.ENOENT, "-c <string>"},
		{"--command=x", syscall.ENOENT, "-c <string>"},
		{"echo hi", syscall.ENOENT, "did you mean -c 'echo hi'?"},
		{"my program", syscall.EACCES, ""},
		{"cd", syscall.ENOENT, "did you mean -c 'cd ...'?"},
		{"cd", syscall.EACCES, ""},
		{"sync", syscall.ENOENT, ""},
		{"./cd", syscall.ENOENT, ""},
		{"A_1=x", syscall.ENOENT, "env A_1=x <command>"},
		{"1A=x", syscall.ENOENT, ""},
		{"=x", syscall.ENOENT, ""},
		{"~/job", syscall.ENOENT, "the shell"},
		{"", syscall.ENOENT, ""},
	} {
		hint := new(Options).CommandHint(c.command, c.err)
		if !strings.Contains(hint, c.want) || c.want == "" && hint != "" {
			t.Errorf("%q, %v: %q, want %q", c.command, c.err, hint, c.want)
		}
	}
}

// own are the options that only the program has.
var own = []string{"schema", "versions"}

func TestParseFor(t *testing.T) {
	t.Setenv("FLOCK_BACKEND", "directory") // which does not count
	for _, c := range []struct {
		args    string
		want    Options
		command string
		text    string
	}{
		{"lock true", Options{File: "lock"}, "true", ""},
		{"--backend etcd lock true", Options{File: "lock"}, "true", ""},
		{"--backend etcd --backend=etcd -n lock true", Options{Nonblock: true, File: "lock"}, "true", ""},
		{"-w 5 lock true", Options{HasTimeout: true, File: "lock"}, "true", ""},
		{"--wait 0 lock true", Options{Nonblock: true, File: "lock"}, "true", ""},
		{"--queue 1 --report 5 lock true", Options{Queued: true, Reports: true, File: "lock"}, "true", ""},
		{"--queue 0 lock true", Options{Nonblock: true, File: "lock"}, "true", ""},
		{"--permits 3 lock -c date", Options{Config: locks.Config{Permits: 3}, File: "lock"}, "sh -c date", ""},
		{"--break lock", Options{Action: Break, File: "lock"}, "", ""},
		{"--backend etcd 9", Options{FD: 9}, "", ""},
		{"--holders lock", Options{Action: Holders, File: "lock"}, "", ""},
		{"--holders 9", Options{Action: Holders, File: "9"}, "", ""}, // a name
		{"--break 9", Options{Action: Break, File: "9"}, "", ""},

		{"", Options{}, "", "not enough arguments"},
		{"--backend native lock true", Options{}, "",
			"invalid backend in --backend: 'native' (this program is the backend etcd)"},
		{"--backend etcd2 --backend etcd l true", Options{}, "",
			"invalid backend in --backend: 'etcd2' (this program is the backend etcd)"},
		{"--backend= lock true", Options{}, "",
			"invalid backend in --backend: '' (this program is the backend etcd)"},
		{"--fcntl lock true", Options{}, "", "--fcntl cannot be combined with the backend etcd"},
		{"--start 0 lock true", Options{}, "", "--start cannot be combined with the backend etcd"},
		{"--backend etcd --length 1 l true", Options{}, "", "--length cannot be combined with the backend etcd"},
		{"-F lock true", Options{}, "", "--no-fork cannot be combined with the backend etcd"},
		{"--replace lock true", Options{}, "", "--replace cannot be combined with the backend etcd"},
		{"--break", Options{}, "", "--holders and --break take one name"},
		{"-c date", Options{}, "", "missing name of a lock, and command"},
		{"-n", Options{}, "", "missing name of a lock, and command"},
		{"-c lock date", Options{}, "", "-c requires exactly one command argument"},
		{"--fd 3 date", Options{}, "", "--fd cannot be combined with the backend etcd"},
		{"--unl lock", Options{}, "", "--unlock cannot be combined with the backend etcd"},
		{"--remove --cooldown 5 lock date", Options{}, "",
			"--remove cannot be combined with --cooldown, whose end is kept in the file"},
		{"lock", Options{}, "", "missing command"},
	} {
		o, err := ParseFor("etcd", append([]string{"flock-etcd"}, strings.Fields(c.args)...), own, shell)
		if c.text != "" {
			if err == nil || err.Error() != c.text {
				t.Errorf("%s: %v, want %s", c.args, err, c.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		same := o.Backend == Other && o.BackendName == "etcd" && o.Action == c.want.Action && o.File == c.want.File &&
			o.Nonblock == c.want.Nonblock && o.NoFork == c.want.NoFork && o.Permits == c.want.Permits &&
			o.HasTimeout == c.want.HasTimeout && o.Queued == c.want.Queued && o.Reports == c.want.Reports &&
			(o.FD < 0 && c.want.FD == 0 || o.FD == c.want.FD) && slices.Equal(o.Command, strings.Fields(c.command))
		if !same {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
}

// TestNoWords has a caller that passes no words, as the kernel here may not allow.
func TestNoWords(t *testing.T) {
	args := named(nil)
	_, err := Parse(args, func(string) (string, bool) { return "", false }, shell)
	if len(args) != 1 || err == nil || err.Error() != "not enough arguments" {
		t.Errorf("%q: %v", args, err)
	}
}

// TestParseForActions gives options after which nothing else counts.
func TestParseForActions(t *testing.T) {
	for word, action := range map[string]Action{
		"--help": Help, "--schema": Own, "--sch": Own, "--version": Version, "--versions": Own, "--vers": Version,
	} {
		for _, args := range [][]string{{"flock-etcd", word}, {"flock-etcd", "--backend", "etcd", word}} {
			if o, err := ParseFor("etcd", args, own, shell); err != nil || o.Action != action {
				t.Errorf("%q: %+v, %v", args, o, err)
			}
		}
	}
}

// TestParseForKnowsAll looks for options of flock that the program of a backend neither has nor refuses.
func TestParseForKnowsAll(t *testing.T) {
	flock, program := newParser("", nil, nil, shell), newParser("etcd", nil, nil, shell)
	for _, opt := range flock.options {
		same := func(other *option) bool {
			return other.long == opt.long && other.short == opt.short && other.kind == opt.kind
		}
		if !slices.ContainsFunc(program.options, same) {
			t.Errorf("--%s (%c): not an option of a program", opt.long, opt.short)
		}
	}
}

// TestKindsOfLocks: a kind that the system does not have is an error of the command line, as with --queue.
func TestKindsOfLocks(t *testing.T) {
	if !locks.HasKernelLocks {
		t.Skip("it has none")
	}
	const permits = "on this system --permits needs the backend auto or directory"
	for args, c := range map[string]struct {
		isThere bool
		want    string
	}{
		"--permits 2 f true":                     {true, ""},
		"--backend directory --permits 2 f true": {true, ""},
		"--backend native --permits 2 f true":    {locks.HasRanges, permits},
		"--backend flock --permits 2 9":          {locks.HasRanges, permits},
		"--backend fcntl --permits 2 f true":     {locks.HasRanges, permits},
		"--start 1 f true": {locks.HasRanges,
			"--start and --length are not supported on this system: its locks are of whole files"},
		"--fcntl f true": {locks.HasByteLocks,
			"this system has no open file description locks, which --fcntl and the backend fcntl need"},
		"--backend native f true": {true, ""},
	} {
		_, err := Parse(append([]string{"flock"}, strings.Fields(args)...), environment(""), shell)
		var failed *failure.Error
		switch {
		case c.isThere && err == nil:
		case c.isThere, !errors.As(err, &failed), failed.Text != c.want, failed.Status != failure.ExUsage:
			t.Errorf("%s: %v", args, err)
		}
	}
}
