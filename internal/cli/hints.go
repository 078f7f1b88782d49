package cli

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/flock/internal/failure"
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
func descriptorHint(word string) string {
	if looksLikeNumber := word == "" || strings.ContainsAny(word[:1], "+-0123456789"+blanks); looksLikeNumber {
		return ""
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

// CommandHint is the hint for a command that cannot be executed, because of err.
func (o *Options) CommandHint(command string, err error) string {
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
	case strings.ContainsAny(command, blanks):
		return "the quotes make it the name of one program: did you mean -c '" + command + "'?"
	case slices.Contains(builtins, command):
		return "'" + command + "' is built into shells: did you mean -c '" + command + " ...'?"
	}
	return ""
}

// builtins are shell builtins and keywords that are no program, or not everywhere.
var builtins = strings.Fields("alias case cd command eval exec exit export fc fg for function getopts hash if jobs " +
	"local popd pushd read readonly return set shift shopt source time times trap type typeset ulimit umask unalias " +
	"unset until wait while { ( ! [[ ((")
