package fallback

import (
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// maxName is the longest file name that filesystems agree on.
const maxName = 255

// StateDir returns where the state of the lock on path is kept: for a file dir/name in dir/.name.flock, for a directory
// d in d/.flock; with base in a directory below base whose name follows from that of the file. In all three, symbolic
// links in path are resolved first. A file that is not there is looked for as if it were; base must be there, and be
// absolute: a relative one would mean a different place in each working directory.
//
// A file with several hard links has a lock per link. A file that is a mount point has another path elsewhere, and is an error.
func StateDir(path, base string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = resolve(path)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	isDir := err == nil && info.IsDir()
	if err == nil && !isDir && isMountPoint(path) {
		return "", errors.New("it is a mount point: other paths to it have another directory lock; mount the directory around it")
	}
	if base != "" {
		if !filepath.IsAbs(base) {
			return "", errors.New("not an absolute path: " + base)
		}
		// /var/lock/a b becomes +var+lock+a%20b
		return filepath.Join(base, fit(strings.ReplaceAll(escape(filepath.ToSlash(path)), "%2F", "+"))), nil
	}
	if isDir {
		return filepath.Join(path, ".flock"), nil
	}
	dir, name := filepath.Split(path)
	return dir + fit("."+name), nil
}

// resolve follows the symbolic links in path, the last part of which need not be there.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	// It may be there by now: other contenders remove the file and make it again.
	if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 || e != nil && !errors.Is(e, fs.ErrNotExist) {
		return "", err // a link to nothing
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// fit appends ".flock". Where that, and the name of the staging directory, would be too long for a file name, the end of the
// name gives way to a hash of it, without cutting a character in two: some filesystems take only UTF-8.
func fit(name string) string {
	const suffix = ".flock"
	room := maxName - len(stagingName("")) - len(suffix)
	if len(name) <= room {
		return name + suffix
	}
	h := fnv.New128a()
	h.Write([]byte(name))
	hash := "~" + hex.EncodeToString(h.Sum(nil))
	cut := room - len(hash)
	for i := 0; i < utf8.UTFMax && !utf8.RuneStart(name[cut]); i++ {
		cut--
	}
	return name[:cut] + hash + suffix
}

// A stateDir is the state directory of a lock, open.
type stateDir struct {
	path string
	dir  *directory
}

// openState opens the state directory at path. Without make, one that is not there is fs.ErrNotExist.
func openState(path string, make bool) (*stateDir, error) {
	s := &stateDir{path: path}
	err := s.open(make)
	if _, known := err.(*stateDirError); err != nil && !known {
		err = &stateDirError{"cannot open", path, err}
	}
	return s, err
}

// maxMakes is how many times a state directory is made that is gone again when it is to be opened: hundreds of contenders that
// begin at once may remove each other's.
const maxMakes = 1000

func (s *stateDir) open(make bool) error {
	for n := 0; ; n++ {
		dir, err := openDirectory(s.path)
		if err == nil {
			s.close()
			s.dir = dir
			return nil
		}
		if !make || !isAbsent(err) || n == maxMakes {
			return err
		}
		if err := makeState(s.path); err != nil {
			return err
		}
	}
}

// Reopen opens what the path leads to now, and makes it if it is not there.
func (s *stateDir) Reopen() error { return s.open(true) }

func (s *stateDir) close() {
	if s.dir != nil {
		s.dir.close()
		s.dir = nil
	}
}

func (s *stateDir) Machine() machine {
	m := thisMachine()
	m.device = s.dir.device()
	return m
}

// changes orders memory as a sync.Mutex does, for several Locks of one process: what a holder has written before it changes
// the directory is there for whoever sees the change.
var changes atomic.Int64

// List returns the names in the directory, none if it was removed.
func (s *stateDir) List() ([]string, error) {
	defer changes.Load()
	names, err := s.dir.names()
	return names, ignoreAbsent(err)
}

func (s *stateDir) Rename(old, new string) error {
	changes.Add(1)
	defer changes.Load()
	return s.dir.rename(old, s.dir, new)
}

// Create makes an empty file. That it is there already is no error: the name is ours alone, and this is the second answer
// of an NFS server that made it the first time.
func (s *stateDir) Create(name string) error {
	err := s.dir.create(name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (s *stateDir) Remove(name string) error {
	changes.Add(1)
	return s.dir.remove(name)
}

func (s *stateDir) Touch(name string) { s.dir.touch(name) }

// IsCurrent reports whether the path still leads to this directory.
func (s *stateDir) IsCurrent() bool {
	dir, err := openDirectory(s.path)
	if err != nil {
		return !isAbsent(err)
	}
	defer dir.close()
	return dir.same(s.dir)
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isStale(err) }

func ignoreAbsent(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}

// A state directory is made with its token inside, as NAME.new/X, and then renamed to NAME. A rename onto a directory
// that is not empty fails, so one maker wins, and nobody ever finds a directory without a token and has to guess whether it
// is new or broken. One that is to be removed is renamed to NAME.new/X, too.
//
// What is in NAME.new, the staging directory, is nobody's: whoever clears it takes its parts away by a rename first, and if a
// maker lives, it makes another one.

// stagingName returns the name of the directory in which a state directory is made.
func stagingName(dir string) string { return dir + ".new" }

// makeState makes the state directory, unless another process does.
func makeState(path string) error {
	parent, staging, err := openStaging(path)
	if err != nil {
		return ignoreAbsent(err) // somebody has cleared it
	}
	defer parent.close()
	defer staging.close()
	name := nonce()
	err = staging.mkdir(name)
	if err == nil {
		err = fill(staging, name)
	}
	if err == nil {
		err = staging.rename(name, parent, filepath.Base(path))
	}
	clearStaging(parent, path)
	if isAbsent(err) || errors.Is(err, fs.ErrExist) || parent.exists(filepath.Base(path)) {
		return nil
	}
	return err
}

// fill makes the names of a new state directory.
func fill(staging *directory, name string) error {
	dir, err := staging.open(name)
	if err != nil {
		return err
	}
	defer dir.close()
	for _, name := range []string{free, fresh} {
		if err := dir.create(name); err != nil {
			return err
		}
	}
	return nil
}

// openStaging opens the directory around path and the staging directory, which it makes if it is not there.
func openStaging(path string) (parent, staging *directory, err error) {
	parent, err = openDirectory(filepath.Dir(path) + string(filepath.Separator) + ".") // which may be reached by a link
	if err != nil {
		return nil, nil, errors.Join(err)
	}
	if err = parent.mkdir(stagingName(filepath.Base(path))); err == nil || errors.Is(err, fs.ErrExist) {
		if staging, err = parent.open(stagingName(filepath.Base(path))); err == nil {
			return parent, staging, nil
		}
		if !isAbsent(err) {
			err = &stateDirError{"cannot open", stagingName(path), err}
		}
	}
	parent.close()
	return nil, nil, err
}

// MoveAway renames the directory to one in the staging directory.
func (s *stateDir) MoveAway() error {
	parent, staging, err := openStaging(s.path)
	if err != nil {
		return err
	}
	defer parent.close()
	defer staging.close()
	return parent.rename(filepath.Base(s.path), staging, nonce())
}

// Clean removes the staging directory.
func (s *stateDir) Clean() {
	if parent, err := openDirectory(filepath.Dir(s.path) + string(filepath.Separator) + "."); err == nil {
		defer parent.close()
		clearStaging(parent, s.path)
	}
}

// clearStaging removes the staging directory.
func clearStaging(parent *directory, path string) {
	base := stagingName(filepath.Base(path))
	staging, err := parent.open(base)
	if err != nil {
		return
	}
	names, _ := staging.names()
	for _, name := range names {
		// Its maker may be about to put it into its place.
		if mine := nonce(); staging.rename(name, staging, mine) == nil {
			os.RemoveAll(filepath.Join(stagingName(path), mine))
		}
	}
	staging.close() // Windows removes no directory that is open
	parent.rmdir(base)
}
