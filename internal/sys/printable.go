// Package sys has what is the same for all that is printed.
package sys

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns what somebody else wrote, such as a host name, a command line or a file name, as one line that is
// safe to print. What is not a character to be seen becomes a "?": control characters (a terminal obeys those above
// U+007F, too), line ends, marks that turn the direction of the text, bytes that are not UTF-8.
func Printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if hidden(r) || r == utf8.RuneError && size == 1 {
			r = '?'
		}
		b.WriteRune(r)
		s = s[size:]
	}
	return b.String()
}

func hidden(r rune) bool { return !strconv.IsGraphic(r) }
