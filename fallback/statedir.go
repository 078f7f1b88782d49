package fallback

import (
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// maxName is the longest file name that filesystems agree on.
const maxName = 255

// StateDir returns where the state of the lock on path is kept: for a file dir/name in dir/.name.flock, for a directory
// d in d/.flock; with base in a directory below base whose name follows from that of the file. In all three, symbolic
// links in path are resolved first. A file that is not there is looked for as if it were; base must be there, and be
// absolute: relative it is another place for each working directory.
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
		return filepath.Join(base, fit(plusses(filepath.ToSlash(path)))), nil
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

// plusses makes a file name of a path: /var/lock/a b becomes +var+lock+a%20b.
func plusses(path string) string {
	b := []byte(escape(path, "/"))
	for i, c := range b {
		if c == '/' {
			b[i] = '+'
		}
	}
	return string(b)
}

// fit appends ".flock". Where that, and the name of the staging directory, would be too long for a file name, the end of the
// name gives way to a hash of it, without cutting a character in two: some filesystems take only UTF-8.
func fit(name string) string {
	const suffix = ".flock"
	room := maxName - len(stagingDir("")) - len(suffix)
	if len(name) <= room {
		return name + suffix
	}
	h := fnv.New128a()
	h.Write([]byte(name))
	sum := h.Sum(nil)
	hash := "~"
	for i := 0; i < len(sum); i += 4 {
		w := uint64(sum[i])<<24 | uint64(sum[i+1])<<16 | uint64(sum[i+2])<<8 | uint64(sum[i+3])
		hash += strconv.FormatUint(1<<32|w, 16)[1:]
	}
	cut := room - len(hash)
	for i := 0; i < utf8.UTFMax && !utf8.RuneStart(name[cut]); i++ {
		cut--
	}
	return name[:cut] + hash + suffix
}
