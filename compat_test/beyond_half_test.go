//go:build linux && (amd64 || arm64)

package compat_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) > 2 && os.Args[1] == "without-byte-locks" {
		hideByteLocks(os.Args[2:])
	}
}

// hideByteLocks executes argv under a filter that leaves flock(2) and hides open file description locks.
func hideByteLocks(argv []string) {
	load := func(offset uint32) unix.SockFilter { // from struct seccomp_data
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(0), jump(unix.SYS_FCNTL, 0, 5), // the number
		load(24), // the second argument
		jump(unix.F_OFD_GETLK, 2, 0), jump(unix.F_OFD_SETLK, 1, 0), jump(unix.F_OFD_SETLKW, 0, 1),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
	execFiltered(filter, argv)
}

// TestPermitsHalf runs the cases of --permits where the permit comes from the directory lock, and the shared lock that
// excludes exclusive locks comes from the kernel.
func TestPermitsHalf(t *testing.T) {
	skipInCheck(t)
	w := newBeyondWorld(t, "beyond-half")
	w.under = []string{filepath.Join(w.dir, "self"), "without-byte-locks"}
	runBeyond(t, w, "half")
}
