package command

import (
	"errors"
	"strings"
)

// On Windows a command line is one string, and each program splits it into words
// itself. Most programs do that as the C runtime does. cmd.exe and its batch files
// have different rules.

// commandLine joins argv for a program that splits it as the C runtime does.
func commandLine(argv []string) string {
	// The first word ends at a blank or a quote. Backslashes have no special
	// meaning in it.
	line := argv[0]
	if line == "" || strings.ContainsAny(line, " \t") {
		line = `"` + line + `"`
	}
	for _, arg := range argv[1:] {
		line += " " + quoteArgument(arg)
	}
	return line
}

func quoteArgument(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\v\"") {
		return arg
	}
	quoted := []byte{'"'}
	backslashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			backslashes++
		case '"':
			quoted = append(quoted, strings.Repeat(`\`, backslashes+1)...)
			backslashes = 0
		default:
			backslashes = 0
		}
		quoted = append(quoted, arg[i])
	}
	quoted = append(quoted, strings.Repeat(`\`, backslashes)...)
	return string(append(quoted, '"'))
}

// isCommandShell reports whether path and shell have the same base name, which is
// that of cmd.exe. Upper and lower case are the same.
func isCommandShell(path, shell string) bool {
	return strings.EqualFold(windowsName(path), windowsName(shell))
}

// shellLine returns a line that makes cmd.exe run a string. With /s and /c it
// removes the first and the last quote, and does not change the quotes between
// them. ok is false if argv does not end with /s /c STRING.
func shellLine(argv []string) (line string, ok bool) {
	n := len(argv)
	if n < 4 || !strings.EqualFold(argv[n-3], "/s") || !strings.EqualFold(argv[n-2], "/c") {
		return "", false
	}
	return commandLine(argv[:n-1]) + ` "` + argv[n-1] + `"`, true
}

// batchLine returns a line that makes cmd.exe run a batch file. Some characters
// have a special meaning for cmd.exe, for instance in "& del *", unless they are
// in quotes; % has one even there. %cd:~,% expands to an empty part of a variable
// that is always set, so %%cd:~,% becomes a single %.
func batchLine(shell, path string, args []string) (string, error) {
	line := commandLine([]string{shell}) + ` /d /e:on /v:off /c ""` +
		strings.ReplaceAll(path, "%", "%%cd:~,%") + `"`
	for _, arg := range args {
		quoted, err := quoteBatchArgument(arg)
		if err != nil {
			return "", err
		}
		line += " " + quoted
	}
	return line + `"`, nil
}

var errBatchArgument = errors.New("a batch file cannot be given a line break or a NUL")

func quoteBatchArgument(arg string) (string, error) {
	if strings.ContainsAny(arg, "\r\n\x00") {
		return "", errBatchArgument
	}
	plain := arg != "" && !strings.HasSuffix(arg, `\`)
	for _, c := range arg {
		plain = plain && c < 0x80 && (c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
			strings.ContainsRune(`#$*+-./:?@\_`, c))
	}
	if plain {
		return arg, nil
	}
	quoted := []byte{'"'}
	backslashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			backslashes++
		case '"':
			quoted = append(quoted, strings.Repeat(`\`, backslashes)...)
			quoted = append(quoted, '"')
			backslashes = 0
		case '%':
			quoted = append(quoted, "%%cd:~,"...)
			backslashes = 0
		default:
			backslashes = 0
		}
		quoted = append(quoted, arg[i])
	}
	quoted = append(quoted, strings.Repeat(`\`, backslashes)...)
	return string(append(quoted, '"')), nil
}
