package fallback

import (
	"cmp"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"example.org/flock/internal/sys"
)

// maxName is the longest file name that filesystems agree on.
const maxName = 255

// StateDir returns where the state of the lock on path is kept: for a file dir/name in dir/.name.flock, for a directory
// d in d/.flock; with base in a directory below base whose name follows from that of the file. In all three, symbolic
// links in path are resolved first. A file that is not there is looked for as if it were; base must be there, and be
// absolute: a relative one would mean a different place in each working directory.
//
// A file with several hard links has a lock per link.
func StateDir(path, base string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = resolve(path)
	}
	if err != nil {
		return "", err
	}
	if base != "" {
		if !filepath.IsAbs(base) {
			return "", errors.New("not an absolute path: " + base)
		}
		// /var/lock/a b becomes +var+lock+a%20b
		return filepath.Join(base, fit(strings.ReplaceAll(escape(filepath.ToSlash(path)), "%2F", "+"))), nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
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
	make bool // whether to make the directory when it is not there
	dir  *directory
}

// maxMakes is how many times a state directory is made that is gone again when it is to be opened.
const maxMakes = 20

// openState opens the state directory at path. Without make, one that is not there is fs.ErrNotExist.
func openState(path string, make bool) (*stateDir, error) {
	s := &stateDir{path: path, make: make}
	var unclean error
	if make {
		// What we may not remove keeps us from making a state directory, but not from using one.
		unclean = cleanStaging(path)
		s.make = unclean == nil
	}
	if err := s.open(); err != nil {
		if unclean != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, &stateDirError{"cannot clean up", stagingName(path), unclean}
		}
		return nil, &stateDirError{"cannot open", path, err}
	}
	s.make = make
	return s, nil
}

func (s *stateDir) open() error {
	for n := 0; ; n++ {
		dir, err := openDirectory(s.path)
		if err == nil {
			s.close()
			s.dir = dir
			return nil
		}
		if !s.make || !isGone(err) || n == maxMakes {
			return err
		}
		if err := makeState(s.path); err != nil {
			return err
		}
	}
}

func (s *stateDir) close() {
	if s.dir != nil {
		s.dir.close()
		s.dir = nil
	}
}

// changes orders memory as a sync.Mutex does, for several Locks of one process: what a holder has written before it changes
// the directory is there for whoever sees the change.
var changes atomic.Int64

func (s *stateDir) List() ([]string, error) {
	defer changes.Load()
	names, err := s.dir.names()
	if err == nil && len(names) == 0 || isGone(err) {
		// There always is a token. That there is nothing at all may mean that somebody removed the directory and
		// we have the old one open.
		if err = s.open(); err == nil {
			names, err = s.dir.names()
		}
	}
	return names, err
}

func (d *directory) exists(name string) (bool, error) {
	_, err := d.modTime(name)
	return err == nil, ignoreAbsent(err)
}

func (s *stateDir) Exists(name string) (bool, error) { return s.dir.exists(name) }

func (s *stateDir) Rename(old, new string) error {
	changes.Add(1)
	defer changes.Load()
	return s.dir.rename(old, s.dir, new)
}

func (s *stateDir) Create(name string) error {
	changes.Add(1)
	return s.dir.create(name)
}

func (s *stateDir) Remove(name string) error {
	changes.Add(1)
	return s.dir.remove(name)
}

// A state directory is made with its token inside, as NAME.new/OWNER, and then renamed to NAME. A rename onto a directory
// that is not empty fails, so one maker wins, and nobody ever finds a directory without a token and has to guess whether it
// is new or broken.
//
// What makers that were killed leave is in NAME.new, the staging directory. The next contender finds it there without
// reading the directory around it, which may be long.

// stagingName returns the name of the directory in which a state directory is made.
func stagingName(dir string) string { return dir + ".new" }

// makeState makes the state directory, unless another process does.
func makeState(path string) error {
	parent, err := openDirectory(filepath.Dir(path) + string(filepath.Separator) + ".") // which may be reached by a link
	if err != nil {
		return err
	}
	defer parent.close()
	maker, err := self()
	if err != nil {
		return err
	}
	base := filepath.Base(path)
	for n := 0; ; n++ {
		err := makeIn(parent, base, maker.renewed().String())
		if there, _ := parent.exists(base); there || errors.Is(err, fs.ErrExist) { // NFS may not show it yet
			err = nil
		}
		err = cmp.Or(err, cleanStaging(path))
		// Gone: somebody has removed the staging directory meanwhile, or the directory around it.
		if !isGone(err) || n == maxMakes {
			return err
		}
	}
}

// makeIn makes the directory called base in parent, by way of one called temp in the staging directory.
func makeIn(parent *directory, base, temp string) error {
	if err := parent.mkdir(stagingName(base)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	staging, err := parent.open(stagingName(base))
	if err != nil {
		return err
	}
	defer staging.close()
	if err := staging.mkdir(temp); err != nil {
		return err
	}
	state, err := staging.open(temp)
	if err == nil {
		err = state.create(free)
		state.close()
	}
	if err == nil {
		err = staging.rename(temp, parent, base)
	}
	if err != nil {
		removeStaged(staging, temp)
	}
	return err
}

// removeStaged removes a state directory that was not finished.
func removeStaged(staging *directory, name string) error {
	state, err := staging.open(name)
	if err != nil {
		return ignoreGone(err)
	}
	err = ignoreGone(state.remove(free))
	state.close()
	if err != nil {
		return err
	}
	return ignoreGone(staging.remove(name))
}

// cleanStaging removes what makers of the state directory at path that died have left.
func cleanStaging(path string) error {
	staging, err := openDirectory(stagingName(path))
	if err != nil {
		return ignoreGone(err)
	}
	names, err := staging.names()
	for _, name := range names {
		maker, ok := parseOwner(name)
		if ok && err == nil && here().judge(maker) == dead {
			err = removeStaged(staging, name)
		}
	}
	staging.close() // some systems do not remove what is open
	if err = ignoreGone(err); err == nil {
		os.Remove(stagingName(path)) // it stays while another maker is in it, who removes it then
	}
	return err
}

// isGone reports whether a directory is not there any more: an NFS client that still knows it says ESTALE.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || sys.IsStale(err) }

func ignoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
