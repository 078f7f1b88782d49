package fallback

import (
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkUncontended(b *testing.B) {
	for _, mode := range []Mode{Exclusive, Shared} {
		b.Run(mode.String(), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "f")
			must(os.WriteFile(file, nil, 0666))
			dir, err := StateDir(file, "")
			must(err)
			owner, err := Process(os.Getpid())
			must(err)
			for b.Loop() {
				l := New(dir, owner)
				must(l.TryLock(Request{Mode: mode}))
				must(l.Unlock())
				must(l.Close())
			}
		})
	}
}
