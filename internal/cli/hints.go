package cli

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// The errors of common mistakes have a second line that says what to do. The first line is that of util-linux.

// withHint adds a hint to the error of a command line, if there is one.
func withHint(err error, hint string) error {
	if usage, ok := err.(*failure.Error); ok {
		usage.Hint = hint
	}
	return err
}

// hintShell is for -c before the file, or before the name of a lock.
func (p *parser) hintShell(option string) string {
	if backend := p.o.BackendName; p.o.Backend == Other {
		return option + " goes after the name: flock-" + backend + " <name> " + option + " <command>"
	}
	return option + " goes after the file: flock <file> " + option + " <command>"
}

// descriptorHint is the hint for a word that stands alone and is not a number, as in "flock FILE".
func (o *Options) descriptorHint(word string) string {
	looksLikeNumber := word == "" || strings.ContainsAny(word[:1], "+-0123456789"+blanks)
	switch {
	case looksLikeNumber:
		return ""
	case o.Op == locks.Unlock:
		return "-u takes the number of a file that the script has open: flock -u 9; " +
			"the lock of flock <file> <command> ends with the command"
	}
	return "'" + word + "' is not a descriptor number: a lock file needs a command: flock <file> <command>"
}

// secondsHint is the hint for a duration with a unit, such as 10m: to read that as ten seconds would be worse than to
// refuse it.
func secondsHint(word string) string {
	units := map[string]float64{"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
	unit := word[max(len(word)-1, 0):]
	number, err := parseFloat(strings.TrimSuffix(word, unit))
	if isFinite := err == nil && number >= 0 && !math.IsInf(number*units[unit], 0); units[unit] == 0 || !isFinite {
		return ""
	}
	return "a time is a number of seconds, without a unit: did you mean " +
		strconv.FormatFloat(number*units[unit], 'f', -1, 64) + "?"
}

// timeoutHint is the hint for the value of -w. A negative one is how other programs say that they wait for ever.
func timeoutHint(word string) string {
	if number, err := parseFloat(word); err == nil && number < 0 {
		return "without -w flock waits for ever"
	}
	return secondsHint(word)
}

// joinedHint is the hint for -c that is joined with its string or with other options.
const joinedHint = "-c is a word of its own, and so is the string after it: -c <string>"

// foreignOptions are options of other lockers, and names that people guess, with what flock has instead.
var foreignOptions = map[string]string{
	"--no-block": meantTry, "--noblock": meantTry, "--non-block": meantTry, "--non-blocking": meantTry,
	"--no-wait": meantTry, "--nowait": meantTry, "--try": meantTry,
	"-t": "did you mean -w <seconds>?",
	"-k": "flock keeps the lock file without an option; only --remove removes it",
}

const meantTry = "did you mean -n?"

// unknownHint is the hint for a word with an option that flock does not have.
func (p *parser) unknownHint(word string, hasC bool) string {
	if hint := p.dashHint(word); hint != "" {
		return hint
	}
	if hasC {
		return joinedHint
	}
	if hint := foreignOptions[word]; hint != "" {
		return hint
	}
	return p.candidates(word)
}

// dashHint is the hint for a long option with one dash only, such as -nonblock or -wait.
func (p *parser) dashHint(word string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if strings.HasPrefix(word, "--") || len(name) < 2 {
		return ""
	}
	opt := p.find(name)
	if isWhole := opt != nil && opt.long == name; !isWhole && (opt == nil || len(name) < 3) {
		return ""
	}
	return "did you mean --" + opt.long + "?"
}

// valueHint is the hint for a word that has, or is before, a wrong value: the value of a short option has no "=".
func (p *parser) valueHint(word string) string {
	if hint := p.dashHint(word); hint != "" {
		return hint
	}
	option, value, hasEquals := strings.Cut(word, "=")
	if strings.HasPrefix(word, "--") || !hasEquals {
		return ""
	}
	return "a short option has no '=': " + option + " " + value
}

// CommandHint is the hint for the word of a command that cannot be executed, because of err.
func (o *Options) CommandHint(command string, err error) string {
	name, _, hasEquals := strings.Cut(command, "=")
	switch {
	case o.ByShell: // it is what SHELL says
		return ""
	case command == "--":
		return "-- goes before the file: flock [options] -- <file> <command>"
	case strings.HasPrefix(command, "-c"), strings.HasPrefix(command, "--com"):
		return joinedHint
	case strings.HasPrefix(command, "-"): // an option that was written behind the file
		return "options go before the file: flock [options] <file> <command>"
	case !errors.Is(err, fs.ErrNotExist):
		return ""
	case strings.HasPrefix(command, "~"):
		return failure.QuotedTilde
	case hasEquals && isVariable(name):
		return "to set a variable for the command: env " + command + " <command>"
	case strings.ContainsAny(command, blanks):
		return "the quotes make it the name of one program: did you mean -c '" + command + "'?"
	case slices.Contains(builtins, command):
		return "'" + command + "' is built into shells: did you mean -c '" + command + " ...'?"
	}
	return ""
}

// isVariable reports whether a word can be the name of a variable.
func isVariable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return strings.Trim(name, letters+"0123456789") == "" && strings.IndexAny(name, letters) == 0
}

// builtins are shell builtins and keywords for which there is no program, or not everywhere.
var builtins = strings.Fields("alias case cd command eval exec exit export fc fg for function getopts hash if jobs " +
	"local popd pushd read readonly return set shift shopt source time times trap type typeset ulimit umask unalias " +
	"unset until wait while { ( ! [[ ((")
