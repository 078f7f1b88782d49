//go:build !linux

package fallback

func isKnownDevice(string) bool   { return false }
func isUnknownDevice(string) bool { return false }
