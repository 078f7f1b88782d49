//go:build aix || darwin || dragonfly || freebsd || illumos || netbsd || openbsd || plan9 || solaris || windows

package fallback

import "os"

func (p *place) createEntry(name string) (fd int, err error) { return 0, p.Create(name) }

func openEntry(*os.File, string) (fd int, err error) { return 0, nil }

func canOpen() bool { return true }

func closeEntry(int) {}

// Wake does nothing: the directory is watched.
func (p *place) Wake(bool) {}

func (p *place) names() ([]string, error) {
	// Opened anew each time: that is when an NFS client asks the server whether the directory has changed.
	f, err := p.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
