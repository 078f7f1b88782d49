package fallback

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A state directory is made with its token inside, as NAME.new/ID, and then renamed to NAME. A rename onto a directory that
// is not empty fails, so one maker wins, and nobody ever finds a directory without a token and has to guess whether it is
// new or broken.
//
// What makers that were killed leave is in NAME.new, the staging directory. The next contender finds it there without
// reading the directory around it, which may be long.

// stagingDir returns the directory in which the state directory dir is made.
func stagingDir(dir string) string { return dir + ".new" }

// makeDir makes the state directory, unless another process does.
func makeDir(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	maker, err := self()
	if err != nil {
		return err
	}
	base := filepath.Base(dir)
	for {
		err := makeIn(parent, base, stagingDir(base), filepath.Join(stagingDir(base), maker.renewed().id()))
		if _, e := parent.Lstat(base); e == nil {
			err = nil
		}
		if e := cleanStaging(dir); err == nil {
			err = e
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Somebody removed the staging directory meanwhile: again, as long as there is a directory to do it in.
		if _, e := parent.Stat("."); e != nil {
			return e
		}
	}
}

// makeIn makes the directory base by way of the temporary one called temp in staging.
func makeIn(parent *os.Root, base, staging, temp string) error {
	if err := mkdir(parent, staging); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := mkdir(parent, temp); err != nil {
		return err
	}
	token := filepath.Join(temp, free)
	f, err := parent.OpenFile(token, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0666)
	if err == nil {
		if err = f.Close(); err == nil {
			err = parent.Rename(temp, base)
		}
	}
	if err != nil {
		removeIn(parent, token)
		removeIn(parent, temp)
	}
	return err
}

// mkdir makes a directory with the permissions that the umask leaves, and all of those of its owner: with a umask like 0177
// nobody could use it, nor remove what is in it.
func mkdir(parent *os.Root, name string) error {
	if err := parent.Mkdir(name, 0777); err != nil {
		return err
	}
	info, err := parent.Lstat(name)
	if err == nil && info.Mode()&0700 != 0700 {
		err = parent.Chmod(name, info.Mode().Perm()|0700)
	}
	return err
}

// cleanStaging removes what makers of the state directory dir that died have left.
func cleanStaging(dir string) error {
	root, err := openDir(stagingDir(dir))
	if err != nil {
		return ignoreAbsent(err)
	}
	defer root.Close()
	f, err := root.Open(".")
	if err != nil {
		return ignoreAbsent(err) // the last maker has removed it
	}
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return ignoreAbsent(err)
	}
	for _, name := range names {
		maker, ok := parseID(name)
		if !ok || judge(here(), maker) != dead {
			continue
		}
		if err := ignoreAbsent(removeIn(root, filepath.Join(name, free))); err != nil {
			return err
		}
		if err := ignoreAbsent(removeIn(root, name)); err != nil {
			return err
		}
	}
	// It stays while another maker is in it, who removes it then. Some systems do not remove what is open.
	root.Close()
	os.Remove(stagingDir(dir))
	return nil
}
