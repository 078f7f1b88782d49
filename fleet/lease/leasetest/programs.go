//go:build linux

// Package leasetest has what the tests of all backends share: they run the program of a backend over servers that they
// start, and disturb. The tests start processes (Environment, Child), mostly with a lock that is held until they say
// (Holding), or with a command that only SIGKILL ends (StartFamily). RunTorture disturbs all of it at random. The
// programs that run under a lock to find out whether they are alone are in package section.
//
// It uses nothing but the standard library, so that each backend can have a module of its own.
package leasetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

// Programs are the paths of those that the tests of a backend run.
type Programs struct {
	Backend string // the program of the backend
	Flock   string // flock, which looks for that beside itself first
	Section string // what runs under a lock: package section
}

// Main is what TestMain does: it builds the programs, and exits with what run returns. The name of the backend's
// program is that of its package too, in the folder above that of the tests.
func Main(name string, run func(Programs) int) {
	catchIgnoredSignals()
	keepDescriptors()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", name)
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		p := Programs{filepath.Join(dir, name), filepath.Join(dir, "flock"), filepath.Join(dir, "section")}
		for _, b := range []struct{ program, where, what string }{
			{p.Backend, "..", "."},
			{p.Flock, "../../..", "."},
			{p.Section, "../../..", "./fleet/lease/leasetest/section"},
		} {
			cmd := exec.Command("go", "build", "-o", b.program, b.what)
			cmd.Dir = b.where
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				fmt.Printf("go build: %v\n%s", err, out)
				return 1
			}
		}
		return run(p)
	}())
}

// catchIgnoredSignals catches the signals that nohup, or a shell that runs the tests in the background, has had
// ignored. What the tests start would inherit that; signals that are caught have their default action there.
func catchIgnoredSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// keepDescriptors has what the tests start not inherit the descriptors that this process has inherited, such as that of
// a flock under which the tests run. They would count where a test sets the limit of open files.
func keepDescriptors() {
	list, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range list {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
