//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"
)

// options is a command line that run can handle.
type options struct {
	op           uintptr // LOCK_SH, LOCK_EX or LOCK_UN
	nonblock     bool
	hasTimeout   bool
	timeout      int64 // nanoseconds; only if hasTimeout
	conflictExit int
	closeFd      bool
	noFork       bool
	fcntl        bool

	fd      int  // descriptor number; -1 with a file
	file    int  // index of the word that names the file
	command int  // index of the first word of the command, or of -c; 0: none
	shell   bool // the word at command is -c
}

// parse reads the command line. It returns false unless it is certain that package cli reads it the same way.
func (o *options) parse(argc int, argv unsafe.Pointer) bool {
	o.op, o.conflictExit, o.fd = syscall.LOCK_EX, 1, -1
	i := 1
	for i < argc {
		word := text(at(argv, i))
		if !hasPrefix(word, "-") || isCommand(word) {
			break
		}
		i++
		if equal(word, "--") {
			// A command that begins with a dash, or -c, is left to package cli.
			if i < argc && hasPrefix(text(at(argv, i)), "-") {
				return false
			}
			break
		}
		var letter rune
		var ok bool
		if hasPrefix(word, "--") {
			letter, ok = o.parseLong(word[2:])
		} else {
			letter, ok = o.parseShort(word[1:])
		}
		if ok && letter != 0 {
			ok = i < argc && o.set(letter, text(at(argv, i)))
			i++
		}
		if !ok {
			return false
		}
	}
	return !(o.noFork && o.closeFd) && o.parseOperands(i, argc, argv)
}

// isCommand reports whether the word is -c or --command, which ends the options as an operand does.
func isCommand(word string) bool { return equal(word, "-c") || equal(word, "--command") }

// parseShort reads one-letter options. It returns the letter of an option whose value is the next word, or 0.
func (o *options) parseShort(letters string) (letter rune, ok bool) {
	for i := range len(letters) {
		letter = rune(letters[i])
		switch {
		case !takesValue(letter):
			if !o.set(letter, "") {
				return 0, false
			}
		case i+1 == len(letters):
			return letter, true
		default:
			return 0, o.set(letter, letters[i+1:])
		}
	}
	return 0, len(letters) > 0
}

// parseLong reads a long option that is spelled out, or --nonblock. It returns its letter if its value is the next
// word, or 0.
func (o *options) parseLong(word string) (letter rune, ok bool) {
	end := index(word, '=')
	letter = longOption(word[:end])
	switch {
	case !takesValue(letter):
		return 0, end == len(word) && o.set(letter, "")
	case end == len(word):
		return letter, true
	}
	return 0, o.set(letter, word[end+1:])
}

// These stand for options that have no letter.
const (
	letterFcntl = 256 + iota // more than a byte
	letterFd
)

func takesValue(letter rune) bool { return letter == 'w' || letter == 'E' || letter == letterFd }

// longOption returns the letter of a long option, or 0. It is no table: a variable with texts has an initializer.
func longOption(name string) (letter rune) {
	switch {
	case equal(name, "shared"):
		return 's'
	case equal(name, "exclusive"):
		return 'x'
	case equal(name, "unlock"):
		return 'u'
	case equal(name, "nonblock"), equal(name, "nonblocking"), equal(name, "nb"):
		return 'n'
	case equal(name, "close"):
		return 'o'
	case equal(name, "no-fork"):
		return 'F'
	case equal(name, "fcntl"):
		return letterFcntl
	case equal(name, "timeout"), equal(name, "wait"):
		return 'w'
	case equal(name, "conflict-exit-code"):
		return 'E'
	case equal(name, "fd"):
		return letterFd
	}
	return 0
}

// set sets an option. It returns false if there is none with this letter, or if it does not know what the value means.
func (o *options) set(letter rune, value string) (ok bool) {
	ok = true
	switch letter {
	case 's':
		o.op = syscall.LOCK_SH
	case 'x', 'e':
		o.op = syscall.LOCK_EX
	case 'u':
		o.op = syscall.LOCK_UN
	case 'n':
		o.nonblock = true
	case 'o':
		o.closeFd = true
	case 'F':
		o.noFork = true
	case letterFcntl:
		o.fcntl = true
	case 'w':
		o.hasTimeout = true
		o.timeout, ok = parseSeconds(value)
	case 'E':
		o.conflictExit, ok = parseNumber(value)
		ok = ok && o.conflictExit <= 255
	case letterFd:
		o.fd, ok = parseNumber(value)
	default:
		ok = false
	}
	return ok
}

// parseSeconds reads a number of seconds with at most six decimals, and returns it in nanoseconds. It accepts 0, and a
// millisecond or more: for smaller numbers it would matter how they are rounded.
func parseSeconds(s string) (int64, bool) {
	point := index(s, '.')
	whole, ok := parseNumber(s[:point])
	if point == len(s) {
		return int64(whole) * 1e9, ok
	}
	decimals := s[point+1:]
	fraction, fractionOK := parseNumber(decimals)
	if !ok && point > 0 || !fractionOK || len(decimals) > 6 { // there may be no digits before the point
		return 0, false
	}
	unit := int64(1e9)
	for range len(decimals) {
		unit /= 10
	}
	ns := int64(whole)*1e9 + int64(fraction)*unit
	return ns, ns == 0 || ns >= 1e6
}

// parseOperands reads what follows the options: the lock file or a descriptor number, and the command.
func (o *options) parseOperands(i, argc int, argv unsafe.Pointer) bool {
	if o.hasTimeout && o.timeout == 0 {
		o.nonblock, o.hasTimeout = true, false
	}
	if o.fd < 0 {
		if i >= argc {
			return false
		}
		word := text(at(argv, i))
		if isCommand(word) {
			return false
		}
		if i++; i == argc {
			n, ok := parseNumber(word)
			o.fd = n
			return ok
		}
		o.file = i - 1
	}
	if i >= argc {
		return false
	}
	o.command = i
	word := text(at(argv, i))
	if o.shell = isCommand(word); o.shell {
		return i+2 == argc && !hasPrefix(text(at(argv, i+1)), "-")
	}
	// A command that begins with a dash is an option behind the file: package main does not wait to say so.
	return len(word) > 0 && (!hasPrefix(word, "-") || mayLackMemory())
}
