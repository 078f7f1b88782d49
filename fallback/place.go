package fallback

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"example.org/flock/internal/events"
)

// A place is a state directory as a space: file system calls, the clock, and the process table.
//
// All names are resolved beneath one open directory, so that nobody can put a symbolic link into the path between two
// moves.
type place struct {
	dir  string
	make bool // whether to make the directory when it is not there
	root *os.Root

	directory *os.File // file
	opened    *os.Root // when it was this one

	waiters     []string // names of waiters in the last listing, see queue.go
	waiterCount int      // how many there were

	// While we wait:
	waiting       string         // our name
	queuedIn      *os.Root       // where it is
	entry         int            // what we have open of it, see createEntry
	listening     bool           // and listen to
	noDescriptors bool           // there are no descriptors for that
	rank          int            // how many that wait for the same mode are before us
	ahead         int            // and how many in all
	before        string         // the one of them whose leaving is waited for
	piped         bool           // by way of what it has open
	watcher       events.Watcher // what is waited for, see watch.go
	look          events.Look
	parent        int // Lock.Parent
}

// openPlace opens the state directory dir. Without make, one that is not there is fs.ErrNotExist.
func openPlace(dir string, make bool) (*place, error) {
	p := &place{dir: dir, make: make}
	var unclean error
	if make {
		// What we may not remove keeps us from making a state directory, but not from using one.
		unclean = cleanStaging(dir)
		p.make = unclean == nil
	}
	if err := p.open(); err != nil {
		if unclean != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, (&place{dir: stagingDir(dir)}).explain("cannot clean up", unclean)
		}
		return nil, p.explain("cannot open", err)
	}
	p.make = make
	return p, nil
}

func (p *place) open() error {
	for {
		root, err := openDir(p.dir)
		if err == nil {
			if p.root != nil {
				p.root.Close()
			}
			p.root = root
			return nil
		}
		if !p.make || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := makeDir(p.dir); err != nil {
			return err
		}
	}
}

// openDir opens a directory that is no symbolic link, nor was one when it was opened.
func openDir(dir string) (root *os.Root, err error) {
	// A staging directory can be removed and made again in between.
	for range 10 {
		if root, err = openOnce(dir); err != errReplaced {
			break
		}
	}
	return root, err
}

const errReplaced = stateError("it was replaced while being opened")

func openOnce(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, stateError("it is a symbolic link, which flock never makes; remove it")
	case !named.IsDir():
		return nil, stateError("it is not a directory; remove it")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errReplaced
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func (p *place) close() error {
	if p.directory != nil {
		p.directory.Close()
	}
	return p.root.Close()
}

func (p *place) List() ([]string, error) {
	names, err := p.list()
	if err == nil && len(names) == 0 || errors.Is(err, fs.ErrNotExist) {
		// There always is a token. That there is nothing at all may mean that somebody removed the directory and
		// we have the old one open.
		if err = p.open(); err == nil {
			names, err = p.list()
		}
	}
	return names, err
}

func (p *place) list() ([]string, error) {
	names, err := p.names()
	p.waiters = waiters(names)
	p.waiterCount = len(p.waiters)
	return names, err
}

func (p *place) Exists(name string) (bool, error) {
	_, err := p.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (p *place) Rename(old, new string) error { return moveIn(p.root, old, new) }

func (p *place) Create(name string) error {
	f, err := p.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0666)
	if errors.Is(err, fs.ErrExist) {
		return nil // the name is ours alone: the second answer of an NFS server that did it the first time
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (p *place) Remove(name string) error { return removeIn(p.root, name) }

func (p *place) Fate(o Owner) fate { return judge(here(), o) }
func (p *place) Now() time.Time    { return time.Now() }
