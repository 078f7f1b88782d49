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
	var b strings.Builder
	for i, r := range s {
		notUTF8 := r == utf8.RuneError && !strings.HasPrefix(s[i:], string(r))
		if notUTF8 || !strconv.IsGraphic(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
