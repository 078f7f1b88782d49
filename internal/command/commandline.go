package command

import (
	"errors"
	"strings"
)

// On Windows a command line is one string, and each program splits it into words itself. Most programs do that as the C
// runtime does. cmd.exe and its batch files have different rules.

// commandLine joins argv for a program that splits it as the C runtime does.
func commandLine(argv []string) string {
	// The first word ends at a blank or a quote. Backslashes have no special meaning in it.
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
	return quote(arg, `\`)
}

// quote puts an argument in quotes, and escape before each quote that it contains. Backslashes are doubled before a
// quote.
func quote(arg, escape string) string {
	quoted := []byte{'"'}
	backslashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			backslashes++
		case '"':
			quoted = append(quoted, strings.Repeat(`\`, backslashes)+escape...)
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

// shellLine returns a line that makes cmd.exe run a string. With /s and /c it removes the first and the last quote, and
// does not change the quotes between them. ok is false if argv does not end with /s /c STRING.
func shellLine(argv []string) (line string, ok bool) {
	n := len(argv)
	if n < 4 || !strings.EqualFold(argv[n-3], "/s") || !strings.EqualFold(argv[n-2], "/c") {
		return "", false
	}
	return commandLine(argv[:n-1]) + ` "` + argv[n-1] + `"`, true
}

// batchLine returns a line that makes cmd.exe run a batch file. Some characters have a special meaning for cmd.exe, for
// instance in "& del *", unless they are in quotes; % has one even there.
func batchLine(shell, path string, args []string) (string, error) {
	line := commandLine([]string{shell}) + ` /d /e:on /v:off /c ""` +
		replacePercent(path) + `"`
	for _, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", errors.New("a batch file cannot be given a line break or a NUL")
		}
		line += " " + quoteBatchArgument(arg)
	}
	return line + `"`, nil
}

// replacePercent makes each % one for cmd.exe, too: %cd:~,% expands to an empty part of
// a variable that is always set, so %%cd:~,% becomes a single %.
func replacePercent(text string) string { return strings.ReplaceAll(text, "%", "%%cd:~,%") }

func quoteBatchArgument(arg string) string {
	const plain = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + `#$*+-./:?@\_`
	if arg != "" && !strings.HasSuffix(arg, `\`) && strings.Trim(arg, plain) == "" {
		return arg
	}
	return replacePercent(quote(arg, `"`))
}

// isBatch reports whether a file is a batch file, which cmd.exe runs.
func isBatch(path string) bool {
	ext := strings.ToLower(path[max(strings.LastIndexByte(path, '.'), 0):])
	return ext == ".bat" || ext == ".cmd"
}

// windowsName returns the base name of a program without the extension .exe.
func windowsName(path string) string {
	name := path[strings.LastIndexAny(path, `/\:`)+1:]
	if n := len(name) - len(".exe"); n > 0 && strings.EqualFold(name[n:], ".exe") {
		name = name[:n]
	}
	return name
}
