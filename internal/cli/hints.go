package cli

import (
	"cmp"
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

// withHint sets the hint of the error of a command line, if there is an error; "" takes its hint away.
func withHint(err error, hint string) error {
	if usage, ok := err.(*failure.Error); ok {
		usage.Hint = hint
	}
	return err
}

// hintShell is for -c before the file, or before the name of a lock.
func (p *parser) hintShell() string {
	target := "file"
	if p.program != "" {
		target = "name"
	}
	return p.shellOption + " goes after the " + target + ": " + failure.Program + " <" + target + "> " + p.shellOption +
		" <command>"
}

// descriptorHint is the hint for a word that stands alone and is not a number, as in "flock FILE".
func (o *Options) descriptorHint(word string) string {
	switch {
	case word == "":
		return failure.EmptyName
	case strings.ContainsAny(word[:1], "+-0123456789"+blanks): // it looks like a number
		return ""
	case o.Op == locks.Unlock:
		return "-u takes the number of a file that the script has open: " + failure.Program + " -u 9; " +
			"the lock of " + failure.Program + " <file> <command> ends with the command"
	}
	return "'" + word + "' is not a descriptor number: a lock file needs a command: " + failure.Program +
		" <file> <command>"
}

// secondsHint is the hint for a duration with a decimal comma, or with a unit, such as 10m: to read that as ten seconds
// would be worse than to refuse it.
func secondsHint(word string) string {
	point := strings.Replace(word, ",", ".", 1)
	if number, err := parseFloat(point); point != word && err == nil && number >= 0 {
		return "a time has a decimal point: did you mean " + point + "?"
	}
	units := map[string]float64{"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
	unit := word[max(len(word)-1, 0):]
	number, err := parseFloat(strings.TrimSuffix(word, unit))
	seconds := number * units[unit]
	if isNumber := err == nil && number >= 0 && !math.IsInf(seconds, 0); units[unit] == 0 || !isNumber {
		return ""
	}
	return "a time is a number of seconds, without a unit: did you mean " +
		strconv.FormatFloat(seconds, 'f', -1, 64) + "?"
}

// quotesHint is the hint for -c with several words, of which the user means one.
func quotesHint(option string, words []string) string {
	text := strings.Join(words, " ")
	switch {
	case text == "":
		return ""
	case text[0] == '-':
		return optionsGoBefore
	case strings.Contains(text, "'"):
		text = "..."
	}
	return "put the command into quotes: " + option + " '" + text + "'"
}

// optionsGoBefore is the hint for an option behind the file.
const optionsGoBefore = "options go before the file: " + failure.Program + " [options] <file> <command>"

// joinedHint is the hint for -c that is joined with its string or with other options.
const joinedHint = "-c is a word of its own, and so is the string after it: -c <string>"

// foreignOptions are options of other lockers, and names that people guess, with what flock has instead.
var foreignOptions = map[string]string{
	"--no-block": meantTry, "--noblock": meantTry, "--non-block": meantTry, "--non-blocking": meantTry,
	"--no-wait": meantTry, "--nowait": meantTry, "--try": meantTry,
	"-t": "did you mean -w <seconds>?",
	"-v": "did you mean --verbose?",
	"-k": failure.Program + " keeps the lock file without an option; only --remove removes it",
}

const meantTry = "did you mean -n?"

// unknownHint is the hint for a word with an option that flock does not have; joined is that for a joined -c.
func (p *parser) unknownHint(word, joined string) string {
	return cmp.Or(p.dashHint(word), joined, foreignOptions[word], p.candidates(word))
}

// candidates is the hint for an abbreviation that is ambiguous.
func (p *parser) candidates(word string) string {
	prefix := longName(word)
	found := p.abbreviated(prefix)
	if prefix == "" || len(found) < 2 {
		return ""
	}
	var names []string
	for _, opt := range found {
		names = append(names, "--"+opt.long)
	}
	return "'--" + prefix + "' is ambiguous: " + strings.Join(names, ", ")
}

// dashHint is the hint for a long option with one dash only, such as -nonblock or -wait.
func (p *parser) dashHint(word string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if strings.HasPrefix(word, "--") || len(name) < 2 {
		return ""
	}
	opt := p.find(name)
	if opt == nil || opt.long != name && len(name) == 2 { // two letters may be two options
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
		return "-- goes before the file: " + failure.Program + " [options] -- <file> <command>"
	case strings.HasPrefix(command, "-c"), strings.HasPrefix(command, "--com"):
		return joinedHint
	case strings.HasPrefix(command, "-"): // an option that was written behind the file
		return optionsGoBefore
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
