//go:build !linux

package lockfile

import "errors"

// openProtected is for a refusal that only Linux has.
func openProtected(string, Access) (fd int, err error) { return -1, errors.ErrUnsupported }

// Network returns Local: we know only of Linux what network filesystems do with locks.
func (*File) Network() Network { return Local }

// Uncertain returns "": only Linux tells.
func (*File) Uncertain() string { return "" }

// OpenForBytes is for the byte locks that only Linux uses as places and tickets.
func (*File) OpenForBytes() (*File, error) { return nil, errors.ErrUnsupported }

// SwapOpenFile is for a question that only Linux answers.
func (*File) SwapOpenFile() error { return errors.ErrUnsupported }

// KeepsFromRunning returns false, likewise.
func KeepsFromRunning(name, program string, err error) bool { return false }
