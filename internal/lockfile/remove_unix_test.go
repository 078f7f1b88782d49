//go:build unix

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRemove changes a file between the opening and the removal.
func TestRemove(t *testing.T) {
	for what, c := range map[string]struct {
		change func(name string) error
		want   error
	}{
		"nothing":          {func(string) error { return nil }, nil},
		"it is written":    {func(name string) error { return os.WriteFile(name, []byte("x"), 0o666) }, notEmpty},
		"it is linked":     {func(name string) error { return os.Link(name, name+"2") }, manyLinks},
		"it is removed":    {os.Remove, fs.ErrNotExist},
		"another is there": {replace, fs.ErrNotExist},
		"a directory is there": {func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o777)) },
			notRegular},
	} {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := OpenToRemove(name, Access(syscall.O_RDWR))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(name); err != nil {
			t.Fatal(err)
		}
		_, before := os.Lstat(name)
		if err := f.Remove(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(name); c.want != nil && (err == nil) != (before == nil) {
			t.Errorf("%s: it was removed", what)
		}
		f.Close()
	}
}

// replace makes another file with the name.
func replace(name string) error {
	return errors.Join(os.WriteFile(name+"2", nil, 0o666), os.Rename(name+"2", name))
}
