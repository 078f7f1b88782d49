//go:build linux && (amd64 || arm64)

package early

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// vector lays words out as the kernel does.
func vector(words []string) unsafe.Pointer {
	pointers := make([]unsafe.Pointer, len(words)+1)
	for i, word := range words {
		pointers[i] = newCString(word)
	}
	return unsafe.Pointer(&pointers[0])
}

func newCString(word string) unsafe.Pointer { return unsafe.Pointer(&append([]byte(word), 0)[0]) }

// TestParse parses command lines. Those for which parse returns false are left to
// package cli. The compat cases compare both with util-linux.
func TestParse(t *testing.T) {
	none := options{op: syscall.LOCK_EX, conflictExit: 1, fd: -1}
	with := func(set func(o *options)) *options { o := none; set(&o); return &o }
	file := func(i, command int, set func(o *options)) *options {
		return with(func(o *options) {
			o.file, o.command = i, command
			if set != nil {
				set(o)
			}
		})
	}
	for line, want := range map[string]*options{
		"f true":                   file(1, 2, nil),
		"f true -n":                file(1, 2, nil),
		"f -c text":                file(1, 2, func(o *options) { o.shell = true }),
		"f --command text":         file(1, 2, func(o *options) { o.shell = true }),
		"9":                        with(func(o *options) { o.fd = 9 }),
		"-u 9":                     with(func(o *options) { o.fd, o.op = 9, syscall.LOCK_UN }),
		"-xsu 9":                   with(func(o *options) { o.fd, o.op = 9, syscall.LOCK_UN }),
		"-us -e 9":                 with(func(o *options) { o.fd = 9 }),
		"-ns 9":                    with(func(o *options) { o.fd, o.op, o.nonblock = 9, syscall.LOCK_SH, true }),
		"9 true":                   file(1, 2, nil),
		"--fd 9 true":              with(func(o *options) { o.fd, o.command = 9, 3 }),
		"--fd=9 -c text":           with(func(o *options) { o.fd, o.command, o.shell = 9, 2, true }),
		"-o -- f true":             file(3, 4, func(o *options) { o.closeFd = true }),
		"-F f true":                file(2, 3, func(o *options) { o.noFork = true }),
		"--no-fork --fcntl f true": file(3, 4, func(o *options) { o.noFork, o.fcntl = true, true }),
		"-w5 f true":               file(2, 3, func(o *options) { o.hasTimeout, o.timeout = true, 5e9 }),
		"-nw 5 f true": file(3, 4, func(o *options) {
			o.hasTimeout, o.timeout, o.nonblock = true, 5e9, true
		}),
		"--timeout=.25 f true":      file(2, 3, func(o *options) { o.hasTimeout, o.timeout = true, 25e7 }),
		"--wait 1.000001 f true":    file(3, 4, func(o *options) { o.hasTimeout, o.timeout = true, 1000001000 }),
		"-w 3 -w 0.0 f true":        file(5, 6, func(o *options) { o.nonblock = true }),
		"-E 0 f true":               file(3, 4, func(o *options) { o.conflictExit = 0 }),
		"-nE255 f true":             file(2, 3, func(o *options) { o.conflictExit, o.nonblock = 255, true }),
		"--conflict-exit-code 7 9":  with(func(o *options) { o.fd, o.conflictExit = 9, 7 }),
		"--nonblocking --close f t": file(3, 4, func(o *options) { o.nonblock, o.closeFd = true, true }),
		"--shared --exclusive 9":    with(func(o *options) { o.fd = 9 }),
		"--unlock --nb --fd 0 t": with(func(o *options) {
			o.fd, o.op, o.nonblock, o.command = 0, syscall.LOCK_UN, true, 5
		}),

		"": nil, "-n": nil, "--": nil, "f": nil, "-1": nil, "-- -1": nil, "+9": nil, "0x9": nil, "9x": nil,
		"1234567890": nil, "-": nil, "- true": nil, "-c text": nil, "-c f text": nil, "-nc text": nil, "-cn f": nil,
		"f -c": nil, "f -c a b": nil, "f -c -n": nil, "f -c -n text": nil, "-- -c text": nil, "-- -f true": nil,
		"--fd 9": nil, "--fd": nil, "--fd= true": nil, "--fd -1 true": nil, "--fd 9 -c": nil, "--fd 9 -c -n text": nil,
		"-F -o f true": nil, "-h": nil, "-V": nil, "-nV f true": nil, "--help": nil, "--verbose f true": nil,
		"-z f true":        nil,
		"--start 1 f true": nil, "--length 1 f true": nil, "--backend auto f true": nil, "--permits 1 f true": nil,
		"--cooldown 1 f true": nil, "--queue 1 f true": nil, "--report 1 f true": nil, "--holders f": nil,
		"--no-such-option f true": nil,
		"--sh f true":             nil, "--shared=1 f true": nil, "--n f true": nil, "--tim 5 f true": nil,
		"---shared f true": nil, "-w": nil, "-w f": nil, "-w -1 f true": nil, "-w 1e3 f true": nil,
		"-w 0x10 f true": nil, "-w 1s f true": nil,
		"-w .0009 f true": nil, "-w . f true": nil, "-w 1. f true": nil, "-w .1234567 f true": nil,
		"-w inf f true": nil,
		"-w=5 f true":   nil, "-w5n f true": nil, "--timeout= f true": nil, "--timeout": nil,
		"-E 256 f true": nil, "-E -1 f true": nil, "-E abc f true": nil, "-E": nil, "-E1234567890 f true": nil,
	} {
		words := append([]string{"flock"}, strings.Fields(line)...)
		var got options
		ok := got.parse(len(words), vector(words))
		if want == nil && ok {
			t.Errorf("%q: read as %+v, should be left to package cli", line, got)
		}
		if want != nil && (!ok || fmt.Sprint(got) != fmt.Sprint(*want)) {
			t.Errorf("%q: %v, %+v; want %+v", line, ok, got, *want)
		}
	}
	for _, words := range [][]string{
		{"flock", "f", ""}, {"flock", ""}, {"flock", "-w", "", "f", "true"}, {"flock", "-w", " 5", "f", "true"},
	} {
		if new(options).parse(len(words), vector(words)) {
			t.Errorf("%q: should be left to package cli", words)
		}
	}
}
