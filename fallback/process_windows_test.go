package fallback

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// kernelLock locks an open file, or fails at once.
func kernelLock(f *os.File, exclusively bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusively {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// stopped is a pause: a process cannot be stopped by another one.
func stopped(_ *os.Process, d time.Duration) { time.Sleep(d) }

// tempDir is t.TempDir, which cannot be removed under Wine 8.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "")
	must(err)
	t.Cleanup(func() {
		var paths []string
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			paths = append(paths, path)
			return nil
		})
		for _, path := range slices.Backward(paths) {
			os.Remove(path)
		}
	})
	return dir
}
