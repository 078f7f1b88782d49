package fallback

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxName is the longest file name that filesystems agree on.
const maxName = 255

// StateDir returns the directory with the state of the lock on path: dir/.name.flock for a file dir/name, d/.flock for
// a directory d; or, with base, a directory below base that is named after the path of the file. In all three it
// resolves symbolic links in path first. The file need not exist. base must exist, and be absolute: a relative one
// would mean a different place in each working directory.
//
// Each hard link of a file has its own lock. A file that is a mount point has another path elsewhere, and is an error;
// so is a path that leads elsewhere than its text says, such as a link of /proc into another mount namespace.
func StateDir(path, base string) (string, error) {
	path, err := resolve(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	isDir := err == nil && info.IsDir()
	if err == nil && !isDir && isMountPoint(path) {
		return "", errors.New("it is a mount point: other paths to it have another directory lock; " +
			"mount the directory around it")
	}
	if base != "" {
		if !filepath.IsAbs(base) {
			return "", errors.New("not an absolute path: " + base)
		}
		around, err := resolveExisting(base)
		if err != nil {
			return "", &stateDirError{"cannot open", base, err}
		}
		// /var/lock/a b becomes +var+lock+a%20b
		return filepath.Join(around, fit(strings.ReplaceAll(escape(filepath.ToSlash(path)), "%2F", "+"))), nil
	}
	if isDir {
		return filepath.Join(path, ".flock"), nil
	}
	dir, name := filepath.Split(path)
	return dir + fit("."+name), nil
}

// resolve returns the absolute path without symbolic links of a file, which need not be there.
func resolve(path string) (string, error) {
	resolved, err := resolveExisting(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	// It may be there by now: other contenders remove the file and make it again.
	info, e := os.Lstat(path)
	isLinkToNothing := e == nil && info.Mode()&fs.ModeSymlink != 0
	if _, e := os.Stat(path); isLinkToNothing && e == nil {
		return "", errUnnamed // a link of /proc to a pipe, or to a removed file, which only the kernel can follow
	}
	if isLinkToNothing || e != nil && !errors.Is(e, fs.ErrNotExist) {
		return "", err
	}
	around, name := filepath.Split(path)
	if around == "" {
		around = "."
	}
	around, err = resolveExisting(around)
	return filepath.Join(around, name), err
}

// maxReplaced is how many times in a row a file can be replaced or removed while it is looked at. After that, these are
// two files.
const maxReplaced = 10

// resolveExisting is resolve for what is there. The kernel has the last word on what a path leads to: a link of /proc
// can lead into another mount namespace, and something can be mounted over the working directory.
func resolveExisting(path string) (string, error) {
	for n := 0; ; n++ {
		full, err := absolute(path)
		if err != nil {
			return "", err
		}
		resolved, err := filepath.EvalSymlinks(full)
		if err != nil {
			return "", err
		}
		byKernel, kernelErr := os.Stat(path)
		byText, textErr := os.Stat(resolved)
		isRemoved := errors.Is(kernelErr, fs.ErrNotExist) || errors.Is(textErr, fs.ErrNotExist)
		switch err := cmp.Or(kernelErr, textErr); {
		case err == nil && os.SameFile(byKernel, byText):
			return resolved, nil
		case err != nil && !isRemoved:
			return "", err
		case n == maxReplaced:
			return "", errElsewhere
		}
	}
}

// lockedPath returns the path of the file whose state directory is dir, and the base that StateDir has made that from.
// The path is "" if the file is not there, or dir does not tell it, as if a hash stands for it.
func lockedPath(dir string) (path, base string) {
	around, name := filepath.Split(dir)
	around, name = filepath.Clean(around), strings.TrimSuffix(name, ".flock")
	switch inside, isBeside := strings.CutPrefix(name, "."); {
	case name == "": // d/.flock
		path = around
	case isBeside:
		path = filepath.Join(around, inside)
	default:
		path, _ = url.PathUnescape(strings.ReplaceAll(name, "+", "/"))
		base = around
	}
	_, err := os.Lstat(path)
	if made, e := StateDir(path, base); err != nil || e != nil || made != dir {
		return "", ""
	}
	return path, base
}

// queueSuffix comes behind the name of a state directory, and makes that of the one of the queue.
const queueSuffix = ".queue"

// fit appends ".flock". Where that, and the name of the staging directory of the queue, would be too long for a file
// name, the end of the name gives way to a hash of it, without cutting a character in two: some filesystems take only
// UTF-8.
func fit(name string) string {
	const suffix = ".flock"
	room := maxName - len(suffix) - len(stagingName(queueSuffix))
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
	*directory
	viewer machine // which sees the directory
}

// openState opens the state directory at path. Without make, one that is not there is fs.ErrNotExist.
func openState(path string, make bool) (*stateDir, error) {
	s := &stateDir{path: path}
	if err := s.open(make); err != nil {
		return nil, &stateDirError{"cannot open", path, err}
	}
	return s, nil
}

// maxMakes is how many times a state directory is made that is gone again when it is to be opened, as by --remove.
const maxMakes = 100

func (s *stateDir) open(make bool) error {
	var makeFailed error // in the round before; it matters only if nobody else has made it since
	for n := 0; ; n++ {
		dir, err := openDirectory(s.path)
		switch {
		case err == nil:
			return s.use(dir)
		case !make, !isAbsent(err), n == maxMakes:
			return err
		case makeFailed != nil && !isAbsent(makeFailed) && !errors.Is(makeFailed, fs.ErrExist):
			return makeFailed
		}
		makeFailed = makeState(s.path)
	}
}

// use makes an open directory that of the state.
func (s *stateDir) use(dir *directory) error {
	number, err := dir.device()
	if err != nil { // without the number, nobody could ask about our lifelines
		dir.close()
		return err
	}
	if s.directory != nil {
		s.close()
	}
	s.directory, s.viewer = dir, thisMachine()
	s.viewer.device = number
	return nil
}

// Reopen opens what the path leads to now. With make, it makes what is not there.
func (s *stateDir) Reopen(make bool) error { return s.open(make) }

func (s *stateDir) Machine() machine { return s.viewer }

// List returns the names in the directory, none if it was removed.
func (s *stateDir) List() ([]string, error) {
	names, err := s.names()
	return names, ignoreAbsent(err)
}

func (s *stateDir) Make(name string) error       { return s.makeFIFO(s.path, name) }
func (s *stateDir) Rename(old, new string) error { return s.rename(old, s.directory, new) }

// stagingName returns the name of the directory in which a state directory is made.
func stagingName(dir string) string { return dir + ".new" }

// makeState makes a state directory with its token inside, and renames it to path. A rename onto a directory that is
// not empty fails, so one maker wins, and nobody ever finds a directory without a token and has to guess whether it is
// new or broken.
func makeState(path string) error {
	return stage(path, func(parent, staging *directory, name string) error {
		err := staging.mkdir(name)
		if err == nil {
			err = staging.makeFIFO(stagingName(path), name+"/"+free)
		}
		if err == nil {
			err = staging.rename(name, parent, filepath.Base(path))
		}
		if errors.Is(err, fs.ErrExist) {
			// Somebody else has made it. If that was another client of an NFS 3 server, within the same tick of the
			// server's clock in which this one last saw a change around it, opening it still finds nothing, and
			// changes of this client do not help. A listing does.
			parent.names()
		}
		return err
	})
}

// MoveAway takes the directory away from its path, and removes it.
func (s *stateDir) MoveAway() error {
	return stage(s.path, func(parent, staging *directory, name string) error {
		return parent.rename(filepath.Base(s.path), staging, name)
	})
}

// stage calls move with the directory around path, the staging directory, which it makes, and a new name in that. Then
// it removes all that is in the staging directory, also what others have left there who were killed. It takes each part
// away by a rename first: a maker that still works on it fails, and begins again. Otherwise it could rename to path
// what is just losing its token.
func stage(path string, move func(parent, staging *directory, name string) error) error {
	// The directory around it may be reached by a link.
	parent, err := openDirectory(filepath.Dir(path) + string(filepath.Separator) + ".")
	if err != nil {
		return err
	}
	defer parent.close()
	base := stagingName(filepath.Base(path))
	if err := parent.mkdir(base); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	staging, err := parent.open(base)
	if err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	err = move(parent, staging, nonce())
	names, _ := staging.names()
	for _, name := range names {
		if mine := nonce(); staging.rename(name, staging, mine) == nil {
			os.RemoveAll(filepath.Join(stagingName(path), mine))
		}
	}
	staging.close() // Windows removes no directory that is open
	parent.rmdir(base)
	return err
}
