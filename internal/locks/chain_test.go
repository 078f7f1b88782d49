package locks

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.org/flock/internal/lockfile"
)

// TestEmptyChain locks by no mechanism at all: that must not look like a lock.
func TestEmptyChain(t *testing.T) {
	c := &Chain{}
	if err := c.Lock(Exclusive, Try); err == nil || IsRefusal(err) {
		t.Errorf("Lock: %v", err)
	}
	if c.Unlock() == nil {
		t.Error("Unlock: no error")
	}
}

// TestHoldOfChain: a Chain has the methods of its hold. One that a mechanism has, too, would be called instead of that of
// the mechanism which serves.
func TestHoldOfChain(t *testing.T) {
	var names []string
	for i, all := 0, reflect.TypeFor[*hold](); i < all.NumMethod(); i++ {
		names = append(names, all.Method(i).Name)
	}
	if want := []string{"Discard", "Inherit", "Leave", "Lifeline", "Started"}; !slices.Equal(names, want) {
		t.Errorf("a Chain takes %v from its hold, not %v", names, want)
	}
}

// TestNarrow: what serves is known when a call has found it.
func TestNarrow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	type kinds struct{ flock, fcntl, directory bool }
	all := kinds{true, true, true}
	for _, c := range []struct {
		given   kinds
		permits int
		want    kinds
	}{
		{all, 0, kinds{flock: true}},
		{kinds{fcntl: true, directory: true}, 0, kinds{fcntl: true}},
		{all, 2, kinds{flock: true, fcntl: true}},
		{kinds{directory: true}, 2, kinds{directory: true}},
	} {
		if !HasKernelLocks && !c.want.directory || !HasRanges && c.want.fcntl {
			continue
		}
		f, err := lockfile.Open(name, lockfile.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if c.want.fcntl && errors.Is(New(f, Config{Fcntl: true}).Lock(Exclusive, Try), errors.ErrUnsupported) { // as on BSDs
			f.Close()
			continue
		}
		config := Config{Flock: c.given.flock, Fcntl: c.given.fcntl, Directory: c.given.directory, Permits: c.permits,
			Warn: func(string) {}, WarnVerbose: func(string) {}}
		chain := New(f, config)
		narrowed := func() kinds {
			n := chain.Narrow(config)
			return kinds{n.Flock, n.Fcntl, n.Directory}
		}
		if got := narrowed(); got != c.given {
			t.Errorf("%+v before a call: %+v", c, got)
		}
		if err := chain.Lock(Exclusive, Try); err != nil {
			t.Fatal(err)
		}
		if got := narrowed(); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
		chain.Unlock()
		f.Close()
	}
}
