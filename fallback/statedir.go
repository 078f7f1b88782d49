package fallback

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// maxName is the longest file name that filesystems agree on.
const maxName = 255

// StateDir returns where the state of the lock on path is kept: for a file dir/name in dir/.name.flock, for a directory
// d in d/.flock; with base in a directory below base whose name follows from that of the file. In all three, symbolic
// links in path are resolved first. The file must be there, and so must base.
//
// A file with several hard links has a lock per link.
func StateDir(path, base string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	if base != "" {
		if base, err = filepath.Abs(base); err != nil {
			return "", err
		}
		return filepath.Join(base, fit(plusses(filepath.ToSlash(path)))), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return filepath.Join(path, ".flock"), nil
	}
	dir, name := filepath.Split(path)
	return dir + fit("."+name), nil
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

// fit appends ".flock". Where that, and the name of the nursery, would be too long for a file name, the end of the
// name gives way to a hash of it, without cutting a character in two: some filesystems take only UTF-8.
func fit(name string) string {
	const suffix = ".flock"
	room := maxName - len(nursery("")) - len(suffix)
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
