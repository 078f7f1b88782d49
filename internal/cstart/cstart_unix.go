//go:build unix

package cstart

import "strings"

// Getenv looks a variable up in Environ.
func Getenv(name string) (value string, set bool) {
	for _, entry := range Environ() {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}
