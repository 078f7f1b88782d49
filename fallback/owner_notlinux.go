//go:build !linux

package fallback

func canTell() error { return nil }
