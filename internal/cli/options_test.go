package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/flock/internal/failure"
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
		{"--permits 3 lock -c date", Options{Permits: 3, File: "lock"}, "sh -c date", ""},
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
		{"--break", Options{}, "", "--holders and --break take one name"},
		{"-c date", Options{}, "", "missing file descriptor, file or directory"},
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
			(o.FD < 0 && c.want.FD == 0 || o.FD == c.want.FD) && slices.Equal(o.Command, strings.Fields(c.command))
		if !same {
			t.Errorf("%s: %+v", c.args, o)
		}
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
	flock, program := newParser(shell), newParser(shell)
	flock.addCommon()
	flock.addFile()
	program.addCommon()
	program.addProgram("etcd", nil)
	for _, opt := range flock.options {
		same := func(other *option) bool {
			return other.long == opt.long && other.short == opt.short && other.isFlag == opt.isFlag
		}
		if !slices.ContainsFunc(program.options, same) {
			t.Errorf("--%s (%c): not an option of a program", opt.long, opt.short)
		}
	}
}
