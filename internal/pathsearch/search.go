//go:build unix

// Package pathsearch is the search of execvp(3) for a command in the
// directories of PATH, without the execve(2). It allocates nothing and has no
// initializer, so that it can run before the Go runtime does.
package pathsearch

import "syscall"

const (
	maxPath = 4096 // PATH_MAX; the C library passes over longer parts of PATH
	maxName = 255  // NAME_MAX, more than which no file has

	// Size is the length of the longest path that Next makes, and a NUL.
	Size = maxPath + maxName + 2

	// Default is what is searched where there is no PATH.
	Default = "/bin:/usr/bin"
)

// A Search goes through the paths under which a command may stand.
type Search struct {
	name, path string
	next       int // where in path the next part begins
	done       bool
	result     syscall.Errno
	_          [0]func() // not comparable: else the compiler makes a function that calls the runtime
}

// Begin returns the search for name, which has no slash, in the directories of
// path.
func Begin(name, path string) Search {
	if len(name) > maxName+1 {
		name = name[:maxName+1] // too long as well
	}
	return Search{name: name, path: path, done: name == "", result: syscall.ENOENT}
}

// Next writes the next path to try into buf, with a NUL behind it, and returns
// its length, or 0 if there is none left. An empty part of PATH is the current
// directory.
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

// Failed takes the error of trying the last path, and ends the search unless
// another path may do.
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

// Result is the error to report if nothing could be executed: that something
// was found and may not be, else the last.
func (s *Search) Result() syscall.Errno { return s.result }
