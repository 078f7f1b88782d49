//go:build linux && (amd64 || arm64)

package compat_test

import (
	"path/filepath"
	"testing"
)

// TestPermitsHalf runs the cases of --permits where the permit comes from the directory lock, and the shared lock that
// excludes exclusive locks comes from the kernel.
func TestPermitsHalf(t *testing.T) {
	skipInCheck(t)
	w := newBeyondWorld(t, "beyond-half")
	w.under = []string{filepath.Join(w.dir, "self"), "without-byte-locks"}
	runBeyond(t, w, "half")
}
