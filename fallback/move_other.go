//go:build !windows

package fallback

import "os"

func moveIn(root *os.Root, old, new string) error { return root.Rename(old, new) }

func removeIn(root *os.Root, name string) error { return root.Remove(name) }
