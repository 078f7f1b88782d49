//go:build !plan9

package fallback

import (
	"strings"
	"syscall"
)

// reason is the text for an error as the C library has it: Go's begins in lower case.
func reason(err error) string {
	text := err.Error()
	if _, ok := err.(syscall.Errno); ok {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
