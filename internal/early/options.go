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
	limited      bool  // wait no longer than timeout
	timeout      int64 // nanoseconds
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
	for ; i < argc; i++ {
		word := text(at(argv, i))
		if len(word) == 0 || word[0] != '-' {
			break
		}
		if len(word) == 1 {
			return false
		}
		if word[1] != '-' {
			if isCommand(word) {
				break
			}
			used, ok := o.parseShort(word, i+1 < argc, argv, i+1)
			if !ok {
				return false
			}
			i += used
			continue
		}
		if len(word) == 2 {
			// A command that begins with a dash, or -c, is left to package cli.
			if i++; i < argc && hasPrefix(text(at(argv, i)), "-") {
				return false
			}
			break
		}
		if isCommand(word) {
			break
		}
		used, ok := o.parseLong(word[2:], i+1 < argc, argv, i+1)
		if !ok {
			return false
		}
		i += used
	}
	return !(o.noFork && o.closeFd) && o.parseOperands(i, argc, argv)
}

// isCommand reports whether the word is -c or --command. It is not an option here: it ends the options as an operand
// does.
func isCommand(word string) bool { return equal(word, "-c") || equal(word, "--command") }

// parseShort reads a word of one-letter options. If the last one takes its value from the next word, used is 1.
func (o *options) parseShort(word string, hasNext bool, argv unsafe.Pointer, next int) (used int, ok bool) {
	for i := 1; i < len(word); i++ {
		letter := word[i]
		if letter != 'w' && letter != 'E' {
			if !o.setFlag(letter) {
				return 0, false
			}
			continue
		}
		value := word[i+1:]
		if len(value) == 0 {
			if !hasNext {
				return 0, false
			}
			value, used = text(at(argv, next)), 1
		}
		return used, o.setValue(letter, value)
	}
	return 0, true
}

// parseLong reads an unabbreviated long option, with =VALUE or the value in the next word.
func (o *options) parseLong(word string, hasNext bool, argv unsafe.Pointer, next int) (used int, ok bool) {
	end := 0
	for end < len(word) && word[end] != '=' {
		end++
	}
	letter, takesValue := longOption(word[:end])
	switch {
	case letter == 0:
		return 0, false
	case !takesValue:
		return 0, end == len(word) && o.setFlag(letter)
	case end < len(word):
		return 0, o.setValue(letter, word[end+1:])
	case hasNext:
		return 1, o.setValue(letter, text(at(argv, next)))
	}
	return 0, false
}

// These stand for options that have no letter.
const (
	letterFcntl = 1
	letterFd    = 2
)

// longOption returns the letter of a long option, or 0, and whether it takes a value.
func longOption(name string) (letter byte, takesValue bool) {
	switch {
	case equal(name, "shared"):
		return 's', false
	case equal(name, "exclusive"):
		return 'x', false
	case equal(name, "unlock"):
		return 'u', false
	case equal(name, "nonblock"), equal(name, "nonblocking"), equal(name, "nb"):
		return 'n', false
	case equal(name, "close"):
		return 'o', false
	case equal(name, "no-fork"):
		return 'F', false
	case equal(name, "fcntl"):
		return letterFcntl, false
	case equal(name, "timeout"), equal(name, "wait"):
		return 'w', true
	case equal(name, "conflict-exit-code"):
		return 'E', true
	case equal(name, "fd"):
		return letterFd, true
	}
	return 0, false
}

// setFlag sets an option without a value. It returns false if there is none with this letter.
func (o *options) setFlag(letter byte) bool {
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
	default:
		return false
	}
	return true
}

// setValue sets an option with a value.
func (o *options) setValue(letter byte, value string) (ok bool) {
	switch letter {
	case 'w':
		o.limited = true
		o.timeout, ok = parseSeconds(value)
	case 'E':
		o.conflictExit, ok = parseNumber(value)
		ok = ok && o.conflictExit <= 255
	case letterFd:
		o.fd, ok = parseNumber(value)
	}
	return ok
}

// parseSeconds reads a number of seconds with at most six decimals, and returns it in nanoseconds. It accepts 0, and a
// millisecond or more: for smaller numbers it would matter how they are rounded.
func parseSeconds(s string) (int64, bool) {
	point := 0
	for point < len(s) && s[point] != '.' {
		point++
	}
	if point == len(s) {
		whole, ok := parseNumber(s)
		return int64(whole) * 1e9, ok
	}
	decimals := s[point+1:]
	fraction, ok := parseNumber(decimals)
	if !ok || len(decimals) > 6 {
		return 0, false
	}
	whole := 0 // as in .5
	if point > 0 {
		if whole, ok = parseNumber(s[:point]); !ok {
			return 0, false
		}
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
	if o.limited && o.timeout == 0 {
		o.nonblock, o.limited = true, false
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
	return len(word) > 0
}
