//go:build unix

package compat_test

import (
	"path/filepath"
	"runtime"
	"testing"
)

// TestBeyondHalf runs the cases of --permits and --queue where the permit or the place comes from the directory lock,
// and the lock, or the shared lock that excludes exclusive locks, comes from the kernel.
func TestBeyondHalf(t *testing.T) {
	skipInCheck(t)
	if !canHideLocks || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("system calls cannot be filtered here")
	}
	w := newBeyondWorld(t, "beyond-half")
	w.under = []string{filepath.Join(w.dir, "self"), "without-byte-locks"}
	runBeyond(t, w, "half", depth{test: everyCase})
}
