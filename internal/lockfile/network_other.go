//go:build !linux

package lockfile

// Network returns Local: what network filesystems do with locks is known of Linux only.
func (*File) Network() Network { return Local }

// KeepsFromRunning returns false, likewise.
func KeepsFromRunning(name, program string, err error) bool { return false }
