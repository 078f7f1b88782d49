//go:build !linux

package fallback

import "os"

func (p *place) createEntry(name string) (fd int, err error) { return 0, p.Create(name) }

func openEntry(*os.File, string) (fd int, err error) { return 0, nil }

func closeEntry(int) {}
