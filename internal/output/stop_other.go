//go:build unix && !linux

package output

// ignoreStop is for Linux: elsewhere the mask of a thread cannot be set.
func ignoreStop() {}
