package cli

import (
	"strings"

	"example.org/flock/internal/failure"
)

// addHint adds to the error of a common mistake a second line that says what to do. The first line stays the reference's.
func (p *parser) addHint(err error) {
	usage, ok := err.(*failure.Error)
	if !ok || usage.Hint != "" {
		return
	}
	kind, word, _ := strings.Cut(usage.Text, "'")
	word, _, _ = strings.Cut(word, "'")
	switch kind {
	case "invalid file descriptor: ":
		if !p.fdOption && word != "" && !strings.ContainsAny(word[:1], "+-0123456789"+blanks) {
			usage.Hint = "'" + word + "' is not a descriptor number: a lock file needs a command: flock <file> <command>"
		}
	case "missing command", "missing file descriptor, file or directory":
		if p.fdOption && p.o.FD < 0 {
			usage.Hint = "a descriptor number is 0 or more"
		}
	case "unrecognized option ":
		if name, ok := strings.CutPrefix(word, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			usage.Hint = p.candidates(name)
		}
	}
}

// candidates names the options of the reference that begin with an ambiguous abbreviation.
func (p *parser) candidates(prefix string) string {
	names := ""
	for _, opt := range p.table() {
		if !opt.own && prefix != "" && strings.HasPrefix(opt.long, prefix) {
			names += ", --" + opt.long
		}
	}
	if strings.Count(names, ",") < 2 {
		return ""
	}
	return "'--" + prefix + "' is ambiguous:" + names[1:]
}

// IsMisplaced reports whether a command that cannot be executed looks like an option that was written behind the file, where
// only -c and --command may stand, on their own.
func IsMisplaced(command string) bool {
	return strings.HasPrefix(command, "-") && command != "--" && !strings.HasPrefix(command, "-c") &&
		!strings.HasPrefix(command, "--com")
}
