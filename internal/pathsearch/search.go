//go:build unix

// Package pathsearch searches the directories of PATH for a command as execvp(3) does. The caller makes the execve(2)
// calls. The package allocates nothing and has no initializer, so it can run before the Go runtime starts.
package pathsearch

import "syscall"

const (
	maxPath = 4096 // PATH_MAX; the C library skips longer parts of PATH
	maxName = 255  // NAME_MAX; no file name is longer

	// Size is the length of the longest path that Next writes, with its NUL.
	Size = maxPath + maxName + 2

	// Default is the path to search if PATH is not set.
	Default = "/bin:/usr/bin"
)

// A Search is a list of the paths at which a command may be.
type Search struct {
	name, path string
	next       int // where in path the next part begins
	done       bool
	result     syscall.Errno
	_          [0]func() // makes it not comparable: for comparison the compiler would generate a call of the runtime
}

// Begin returns the search for name, which has no slash, in the directories of path.
func Begin(name, path string) Search {
	if len(name) > maxName+1 {
		name = name[:maxName+1] // still too long
	}
	return Search{name: name, path: path, done: name == "", result: syscall.ENOENT}
}

// Next writes the next path to try into buf, with a NUL after it, and returns its length, or 0 if no path is left. An
// empty part of PATH is the current directory.
func (s *Search) Next(buf *[Size]byte) int {
	for !s.done {
		end := s.next
		for end < len(s.path) && s.path[end] != ':' {
			end++
		}
		dir := s.path[s.next:end]
		s.next = end + 1
		s.done = end == len(s.path)
		if len(dir) >= maxPath {
			continue
		}
		n := 0
		for i := range len(dir) {
			buf[n] = dir[i]
			n++
		}
		if n > 0 {
			buf[n] = '/'
			n++
		}
		for i := range len(s.name) {
			buf[n] = s.name[i]
			n++
		}
		buf[n] = 0
		return n
	}
	return 0
}

// Failed takes the error for the last path. It ends the search if execvp(3) does not try another path after this error.
func (s *Search) Failed(err syscall.Errno) {
	switch err {
	case syscall.EACCES:
		s.result = err
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ESTALE, syscall.ENODEV, syscall.ETIMEDOUT:
		if s.result != syscall.EACCES {
			s.result = err
		}
	default:
		s.result, s.done = err, true
	}
}

// Result returns the error to report if nothing could be executed: EACCES if a file was found that may not be executed,
// otherwise the last error.
func (s *Search) Result() syscall.Errno { return s.result }
