//go:build linux && (amd64 || arm64)

package early

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestUseOneProcessor lays words out as the kernel does, and reads what the Go runtime would find.
func TestUseOneProcessor(t *testing.T) {
	read := func(p unsafe.Pointer) (words []string) {
		for i := 0; at(p, i) != nil; i++ {
			words = append(words, text(at(p, i)))
		}
		return words
	}
	for _, c := range []struct{ arguments, environment []string }{
		{nil, nil},
		{[]string{"flock"}, nil},
		{[]string{"flock", "--help"}, []string{"A=1"}},
		{[]string{"flock", "f", "env"}, []string{"A=1", "GOMAXPROCS=7", "A=2"}},
	} {
		// two free words, argc, argv, null, environment, null
		memory := make([]unsafe.Pointer, 3+len(c.arguments)+1+len(c.environment)+1)
		*(*int)(unsafe.Pointer(&memory[2])) = len(c.arguments)
		for i, word := range c.arguments {
			memory[3+i] = newCString(word)
		}
		for i, word := range c.environment {
			memory[3+len(c.arguments)+1+i] = newCString(word)
		}
		p := process{argc: len(c.arguments), argv: unsafe.Pointer(&memory[3])}
		p.useOneProcessor()
		argc := *(*int)(unsafe.Pointer(&memory[0]))
		argv := unsafe.Pointer(&memory[1])
		environment := append([]string{"GOMAXPROCS=1", "GOMAXPROCS=1"}, c.environment...)
		if argc != len(c.arguments) || fmt.Sprint(read(argv)) != fmt.Sprint(c.arguments) ||
			fmt.Sprint(read(slot(argv, argc+1))) != fmt.Sprint(environment) {
			t.Errorf("%q %q: %d %q %q", c.arguments, c.environment, argc, read(argv), read(slot(argv, argc+1)))
		}
		if int(result.Added) != len(environment)-len(c.environment) {
			t.Errorf("%d entries added", result.Added)
		}
	}
}
