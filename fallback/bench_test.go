package fallback

import (
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkUncontended(b *testing.B) {
	for name, lock := range map[string]func(*Lock) error{"exclusive": (*Lock).TryLock, "shared": (*Lock).TryRLock} {
		b.Run(name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "f")
			must(os.WriteFile(file, nil, 0666))
			dir, err := StateDir(file, "")
			must(err)
			l := Open(dir, file, -1)
			for b.Loop() {
				must(lock(l))
				must(l.Unlock())
			}
		})
	}
}
