//go:build linux && (amd64 || arm64)

package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) > 2 && os.Args[1] == "without-fork" {
		refuseFork(os.Args[2:])
	}
}

// refuseFork executes argv under a filter that allows new threads but no child: clone(2) fails with EAGAIN if the low byte
// of its first argument names a signal for the parent.
func refuseFork(argv []string) {
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	equals := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	execFiltered([]unix.SockFilter{
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0), // the number, see struct seccomp_data
		equals(unix.SYS_CLONE, 0, 4),
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16), // the first argument
		statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xff),
		equals(uint32(unix.SIGCHLD), 0, 1),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EAGAIN)),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW),
	}, argv)
}

// TestForkRefused runs flock where no child can be created: flock reports "fork failed", not "failed to execute". With
// --no-fork it needs no child and succeeds.
func TestForkRefused(t *testing.T) {
	needOurs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{oursPath, referencePath} {
		if program == "" {
			continue
		}
		t.Run(filepath.Dir(program), func(t *testing.T) {
			for _, test := range []struct {
				backend, option, says string
				status                int
			}{
				{"", "-n", "flock: fork failed: Resource temporarily unavailable\n", 71},
				{"", "-F", "in\n", 0},
				{"directory", "-n", "flock: fork failed: Resource temporarily unavailable\n", 71},
				{"directory", "-F", "in\n", 0},
			} {
				c := exec.Command(self, "without-fork", program, test.option, "f", "echo", "in")
				c.Dir = t.TempDir()
				c.Env = append(os.Environ(), "LC_ALL=C", "FLOCK_BACKEND="+test.backend)
				out, _ := c.CombinedOutput()
				if status := c.ProcessState.ExitCode(); string(out) != test.says || status != test.status {
					t.Errorf("%s %s: status %d, %s", test.backend, test.option, status, out)
				}
			}
		})
	}
}
