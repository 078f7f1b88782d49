//go:build plan9 || windows

package fallback

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.org/flock/internal/events"
)

// A directory is an open directory. All names are resolved beneath it, so that nobody can put a symbolic link into the
// path between two calls; and its own name was no symbolic link when it was opened.
type directory struct{ root *os.Root }

func openDirectory(path string) (*directory, error) {
	return open(path, os.Lstat, os.OpenRoot)
}

// open opens a directory in d.
func (d *directory) open(name string) (*directory, error) {
	return open(name, d.root.Lstat, d.root.OpenRoot)
}

func open(name string, lstat func(string) (os.FileInfo, error), openRoot func(string) (*os.Root, error)) (*directory, error) {
	for range 10 { // it can be removed and made again in between
		named, err := lstat(name)
		switch {
		case err != nil:
			return nil, err
		case named.Mode()&fs.ModeSymlink != 0:
			return nil, errIsLink
		case !named.IsDir():
			return nil, errNoDirectory
		}
		root, err := openRoot(name)
		if err != nil {
			return nil, err
		}
		if opened, err := root.Stat("."); err == nil && os.SameFile(named, opened) {
			return &directory{root}, nil
		}
		root.Close()
	}
	return nil, stateError("it was replaced while being opened")
}

func (d *directory) close() { d.root.Close() }

func (d *directory) names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (s *stateDir) handle() events.Directory { return events.Directory{Name: s.path} }

// create makes an empty file. That it is there already is no error: the name is ours alone.
func (d *directory) create(name string) error {
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// touch sets the modification time to now.
func (d *directory) touch(name string) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(d.root.Name(), name), now, now)
}

func (d *directory) modTime(name string) (time.Time, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (d *directory) mkdir(name string) error { return d.root.Mkdir(name, 0o777) }
