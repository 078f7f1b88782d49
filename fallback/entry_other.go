//go:build aix || darwin || dragonfly || freebsd || illumos || netbsd || openbsd || plan9 || solaris || windows

package fallback

// Here the entry of a waiter is a file. Those who wait watch the directory.

func (s *stateDir) makeEntry(name string) (bell int, err error) { return 0, s.Create(name) }

func (s *stateDir) ring(string) (awake bool) { return false }

func (s *stateDir) listens(string) bool { return false }

func closeEntry(int) {}

func canOpen() bool { return true }

// isLocal reports whether the directory is surely on this machine.
func (*directory) isLocal() bool { return false }
