package holders

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/locks"
)

// TestCooldownWithoutHolders: a cooldown is known even if who holds the lock is not.
func TestCooldownWithoutHolders(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour)
	if err := os.Chtimes(name, end, end); err != nil {
		t.Fatal(err)
	}
	unknown := locks.Config{Directory: true, StateBase: "relative"} // which is an error
	list, err := Find(lockfile.Unopened(name), unknown)
	if rows, isHeld := list.Rows(); err == nil || len(rows) != 1 || isHeld {
		t.Errorf("%v, %q, held: %v", err, rows, isHeld)
	}
	state := InTheWay(lockfile.Unopened(name), unknown, locks.Exclusive).State(true)
	if !strings.HasPrefix(state, "in its cooldown until ") {
		t.Errorf("%q", state)
	}
}
