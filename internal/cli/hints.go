package cli

import (
	"strings"

	"example.org/flock/internal/failure"
)

// The errors of common mistakes have a second line that says what to do. The first line is that of util-linux.

// hintCommand adds the hint to the error for a word that stands alone and is not a number, as in "flock FILE".
func hintCommand(err error, word string) error {
	looksLikeNumber := word == "" || strings.ContainsAny(word[:1], "+-0123456789"+blanks)
	if usage, ok := err.(*failure.Error); ok && !looksLikeNumber {
		usage.Hint = "'" + word + "' is not a descriptor number: a lock file needs a command: flock <file> <command>"
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

// IsMisplaced reports whether a command that cannot be executed looks like an option that was written behind the file,
// where only -c and --command may stand, on their own.
func IsMisplaced(command string) bool {
	return strings.HasPrefix(command, "-") && command != "--" && !strings.HasPrefix(command, "-c") &&
		!strings.HasPrefix(command, "--com")
}
