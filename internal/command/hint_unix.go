//go:build unix

package command

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"example.org/flock/internal/cstart"
)

// Hint says what to do about a program that cannot be executed, because of err, although there is a file; "" if that
// is not known.
func Hint(name string, err error) string {
	info, missing := os.Stat(name)
	isFile, hasPath := missing == nil && info.Mode().IsRegular(), strings.Contains(name, "/")
	found := name
	if !hasPath {
		found = Find(name, "")
	}
	switch {
	case errors.Is(err, fs.ErrPermission) && isFile && hasPath && info.Mode().Perm()&0o111 == 0:
		return "it is not executable: chmod +x " + name + ", or give its interpreter: sh " + name
	case !errors.Is(err, fs.ErrNotExist):
		return ""
	case isFile && found == "" && info.Mode().Perm()&0o111 != 0:
		return "the current directory is not in PATH: did you mean ./" + name + "?"
	}
	return interpreterHint(found)
}

// interpreterHint is the hint for a script that is there, while its interpreter is not.
func interpreterHint(path string) string {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would hang
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(file, head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	script, isScript := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(script)
	switch {
	case !isScript || len(words) == 0:
		return ""
	case strings.HasSuffix(script, "\r"):
		return "its lines end with a carriage return, as on Windows: remove them with tr -d '\\r'"
	}
	if _, err := os.Stat(words[0]); err != nil {
		return "it is there, but its interpreter " + words[0] + " is not"
	}
	return ""
}

// Backends returns the names of the backends that are programs, in dir and in PATH. isName says whether one can be.
func Backends(dir string, isName func(name string) bool) (names []string) {
	path, _ := cstart.Getenv("PATH")
	for _, place := range append([]string{dir}, filepath.SplitList(path)...) {
		files, _ := os.ReadDir(place)
		for _, file := range files {
			name, isBackend := strings.CutPrefix(file.Name(), "flock-")
			isBackend = isBackend && name != "go" && isName(name) // flock-go is flock itself
			if isBackend && !slices.Contains(names, name) && Find(file.Name(), dir) != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
