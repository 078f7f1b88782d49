//go:build unix

package fallback

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/fallback/openfile"
	"example.org/flock/internal/sys"
)

func TestNames(t *testing.T) {
	for _, name := range []string{
		"a b", "a\nb", "\xff\xfe", strings.Repeat("x", 255), strings.Repeat("ü", 127), "-n", "%41", "a,b",
	} {
		file := filepath.Join(t.TempDir(), name)
		err := os.WriteFile(file, nil, 0o666)
		if errors.Is(err, unix.EILSEQ) {
			t.Logf("not here: %q", name)
			continue
		}
		must(err)
		for _, base := range []string{"", t.TempDir()} {
			dir, err := StateDir(file, base)
			must(err)
			if len(filepath.Base(stagingName(dir+queueSuffix))) > maxName {
				t.Fatalf("too long: %q", dir)
			}
			settled(t, dir)
			must(OpenQueue(dir, file).TryPermit(1))
		}
	}
}

func TestNamesOfDifferentFilesDiffer(t *testing.T) {
	d := t.TempDir()
	seen := map[string]string{}
	long := strings.Repeat("x", 254)
	for _, name := range []string{"a", "A", "d+b", "d/b", "d%2Bb", "a b", long + "1", long + "2"} {
		file := filepath.Join(d, name)
		must(os.MkdirAll(filepath.Dir(file), 0o777))
		must(os.WriteFile(file, nil, 0o666))
		dir, err := StateDir(file, d)
		must(err)
		if seen[dir] != "" {
			t.Fatalf("%q and %q share %q", name, seen[dir], dir)
		}
		seen[dir] = name
	}
}

// TestLockedPath: a lifeline that a command has inherited leads back to the file.
func TestLockedPath(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	for name, isKnown := range map[string]bool{
		"f": true, "a b+c%": true, ".flock": true, strings.Repeat("x", 255): false,
	} {
		path := filepath.Join(d, name)
		must(os.WriteFile(path, nil, 0o666))
		for _, base := range []string{"", d} {
			dir, err := StateDir(path, base)
			must(err)
			if got, _ := lockedPath(dir); (got == path) != isKnown || !isKnown && got != "" {
				t.Errorf("%q became %q", path, got)
			}
		}
	}
	dir, err := StateDir(d, "")
	must(err)
	if got, _ := lockedPath(dir); got != d {
		t.Errorf("%q became %q", d, got)
	}
}

func TestMissingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	before, err := StateDir(file, "")
	must(err)
	must(os.WriteFile(file, nil, 0o666))
	if after, err := StateDir(file, ""); err != nil || after != before {
		t.Fatalf("%q before the file is there, then %q, %v", before, after, err)
	}
	must(os.Remove(file))
	must(os.Symlink("nothing", file))
	for _, path := range []string{file, filepath.Join(file, "f")} {
		if _, err := StateDir(path, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(path, err)
		}
	}
	l := newLock(filepath.Join(t.TempDir(), "no", "parent"))
	if err := l.TryRLock(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if hs, err := l.Contenders(); err != nil || hs != nil {
		t.Fatal(hs, err)
	}
}

// A listing is a directory in which a listing makes something else of lifelines.
type listing struct {
	*thisSystem
	replace func(path string) error
}

func (l listing) List() ([]string, error) {
	names, err := l.thisSystem.List()
	for _, name := range names {
		if strings.HasPrefix(name, waitName) {
			path := filepath.Join(l.path, name)
			must(os.Remove(path))
			must(l.replace(path))
		}
	}
	return names, err
}

// TestDeafLifeline: where a lifeline does not answer there is an error, and nothing is left. On SMB it becomes a plain
// file when the directory is listed, on filesystems without a cache there is another FIFO by each look at the name.
func TestDeafLifeline(t *testing.T) {
	for what, replace := range map[string]func(string) error{
		"a plain file": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"another FIFO": func(path string) error { return unix.Mkfifo(path, 0o666) },
	} {
		dir := lockFile(t)
		state, err := openState(dir, true)
		must(err)
		l := &Lock{dir: dir, path: filepath.Join(filepath.Dir(dir), "f"), fd: -1, state: state}
		s := &thisSystem{state, openfile.Table{Path: l.path, Opened: -1, FD: -1}}
		a := newAttempt(t.Context(), listing{s, replace}, l, Request{Mode: Exclusive, Try: true})
		_, _, err = a.acquire(nil)
		if err != errDeaf {
			t.Errorf("%s: %v", what, err)
		}
		l.end(a, false)
		settled(t, dir)
	}
}

// TestRemovedMeanwhile removes by hand what a waiter needs: it begins anew, or says what is wrong.
func TestRemovedMeanwhile(t *testing.T) {
	for what, c := range map[string]struct {
		remove func(dir, waiter string)
		says   string // "": it has the lock when the holder is gone
	}{
		"its name":      {func(dir, waiter string) { must(os.Remove(filepath.Join(dir, waiter))) }, ""},
		"the directory": {func(dir, waiter string) { must(os.RemoveAll(dir)) }, ""},
		"the token":     {func(dir, waiter string) { must(os.Remove(filepath.Join(dir, free))) }, "token is missing"},
		"the directory, by one who was killed when it had moved it away": {func(dir, waiter string) {
			state, err := openState(dir, false)
			must(err)
			defer state.close()
			id := newID(ownPID, 0, time.Now(), state.viewer)
			must(state.Make(recordName(Exclusive, id, 0, nil)))
			must(state.Rename(free, busy+","+id))
			must(os.Mkdir(stagingName(dir), 0o777))
			must(os.Rename(dir, filepath.Join(stagingName(dir), nonce())))
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := lockFile(t)
			holder, waiter := newLock(dir), newLock(dir)
			must(holder.TryLock())
			ended := make(chan error)
			go func() { ended <- waiter.Lock(context.Background()) }()
			name := ""
			for name == "" {
				for _, n := range list(t, dir) {
					if strings.HasPrefix(n, waitName) {
						name = n
					}
				}
			}
			c.remove(dir, name)
			must(holder.Unlock())
			select {
			case err := <-ended:
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Error(err)
				}
				if err == nil && newLock(dir).TryLock() == nil {
					t.Error("two inside")
				}
			case <-time.After(time.Minute):
				t.Error("it waits for ever")
			}
		})
	}
}

// TestStateDirectoryRemovedMeanwhile: the holder's Unlock is no error, and the next lock makes it anew.
func TestStateDirectoryRemovedMeanwhile(t *testing.T) {
	dir := lockFile(t)
	l := newLock(dir)
	must(l.TryRLock())
	must(os.RemoveAll(dir))
	must(l.Unlock())
	must(l.TryLock())
	must(l.Unlock())
	settled(t, dir)
}

// TestHostilePlaces: what somebody has put into the place of the state is an error that names it.
func TestHostilePlaces(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string)
		says    string // "": works all the same
	}{
		"link":         {func(d string) { os.Mkdir(d+"2", 0o777); os.Symlink(d+"2", d) }, "symbolic link"},
		"file":         {func(d string) { os.WriteFile(d, nil, 0o666) }, "not a directory"},
		"staging link": {func(d string) { os.Symlink(".", stagingName(d)) }, "symbolic link"},
		"no token": {func(d string) { os.Mkdir(d, 0o777); os.WriteFile(d+"/README", nil, 0o666) },
			"token is missing"},
		"foreign names": {func(d string) {
			os.Mkdir(d, 0o777)
			os.WriteFile(d+"/free", nil, 0o666)
			os.WriteFile(d+"/.nfs0001", nil, 0o666)
			os.WriteFile(d+"/a,b\n\xff", nil, 0o666)
		}, ""},
		"a file for a lifeline": {func(d string) {
			os.Mkdir(d, 0o777)
			os.WriteFile(d+"/free", nil, 0o666)
			s := &stateDir{path: d}
			must(s.open(false))
			os.WriteFile(d+"/"+recordName(Exclusive, newID(1, 0, time.Now(), s.Machine()), 0, nil), nil, 0o666)
		}, "locked"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := lockFile(t)
			c.prepare(dir)
			err := newLock(dir).TryLock()
			switch {
			case c.says == "" && err != nil:
				t.Fatal(err)
			case c.says == "":
			case c.says == "locked" && isLocked(err):
			case err == nil, !strings.Contains(err.Error(), c.says),
				!strings.Contains(err.Error(), dir), strings.Contains(err.Error(), "\n"):
				t.Fatal(err)
			}
		})
	}
}

func TestRelativeBase(t *testing.T) {
	t.Chdir(t.TempDir())
	must(os.WriteFile("f", nil, 0o666))
	if dir, err := StateDir("f", "."); err == nil {
		t.Fatalf("%q is another place for each working directory", dir)
	}
}

// TestNoPlaceForTheState: where no directory can be made there is an error and no endless loop.
func TestNoPlaceForTheState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ file, stateIn string }{
		{"/proc/version", ""}, {file, "/proc"}, {file, filepath.Join(t.TempDir(), "none")},
	} {
		dir, err := StateDir(c.file, c.stateIn)
		if err == nil {
			err = newLock(dir).Lock(context.Background())
		}
		if !errors.Is(err, fs.ErrNotExist) && !sys.CannotCreate(err) { // NetBSD says that /proc is read-only
			t.Errorf("%q: %v", c, err)
		}
	}
}

// TestDiscard removes the state directory of a lock that nobody else uses.
func TestDiscard(t *testing.T) {
	dir := lockFile(t)
	a, b := newLock(dir), newLock(dir)
	must(a.TryRLock())
	must(b.TryRLock())
	must(a.Discard())
	if names := list(t, dir); len(names) != 2 {
		t.Errorf("beside another holder: %q", names)
	}
	must(b.Discard())
	if names := list(t, filepath.Dir(dir)); !slices.Equal(names, []string{"f"}) {
		t.Errorf("left: %q", names)
	}
	settled(t, dir)
}
