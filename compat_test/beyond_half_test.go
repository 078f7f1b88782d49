//go:build linux && (amd64 || arm64)

package compat_test

import (
	"path/filepath"
	"testing"
)

// TestBeyondHalf runs the cases of --permits and --queue where the permit or the place comes from the directory lock,
// and the lock, or the shared lock that excludes exclusive locks, comes from the kernel.
func TestBeyondHalf(t *testing.T) {
	skipInCheck(t)
	w := newBeyondWorld(t, "beyond-half")
	w.under = []string{filepath.Join(w.dir, "self"), "without-byte-locks"}
	runBeyond(t, w, "half", depth{test: everyCase})
}
