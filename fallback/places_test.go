//go:build linux

package fallback

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHostilePlaces(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string)
		says    string // "": works all the same
	}{
		"link":         {func(d string) { os.Mkdir(d+"2", 0777); os.Symlink(d+"2", d) }, "symbolic link"},
		"dangling":     {func(d string) { os.Symlink(d+"2", d) }, "symbolic link"},
		"file":         {func(d string) { os.WriteFile(d, nil, 0666) }, "not a directory"},
		"staging link": {func(d string) { os.Symlink(".", stagingName(d)) }, "symbolic link"},
		"empty":        {func(d string) { os.Mkdir(d, 0777) }, "token is missing"},
		"no token":     {func(d string) { os.Mkdir(d, 0777); os.WriteFile(d+"/README", nil, 0666) }, "token is missing"},
		"two tokens": {func(d string) {
			os.Mkdir(d, 0777)
			os.WriteFile(d+"/free", nil, 0666)
			os.WriteFile(d+"/excl,"+me().renewed().String(), nil, 0666)
		}, "more than one token"},
		"odd token": {func(d string) {
			os.Mkdir(d, 0777)
			os.WriteFile(d+"/free", nil, 0666)
			os.WriteFile(d+"/shared,x", nil, 0666)
		}, `cannot read the name "shared,x"`},
		"foreign names": {func(d string) {
			os.Mkdir(d, 0777)
			os.WriteFile(d+"/free", nil, 0666)
			os.WriteFile(d+"/.nfs0001", nil, 0666)
			os.WriteFile(d+"/a,b\n\xff", nil, 0666)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := lockFile(t)
			c.prepare(dir)
			err := newLock(dir).TryLock()
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) ||
				strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			t.Log(err)
		})
	}
}

// nobody tries to lock without any privilege and prints the error.
func nobody(dir string, _ int) {
	must(unix.Setgid(65534))
	must(unix.Setuid(65534))
	err := newLock(dir).TryLock()
	fmt.Print(err, "\n", errors.Is(err, fs.ErrPermission))
}

func TestPermissionDenied(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	for _, made := range []bool{false, true} {
		dir := lockFile(t)
		must(os.Chmod(filepath.Dir(filepath.Dir(dir)), 0755))
		if made {
			settled(t, dir)
		}
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "FALLBACK_ROLE=nobody", "FALLBACK_PLACE="+dir)
		out, err := c.CombinedOutput()
		must(err)
		s := string(out)
		if !strings.Contains(s, dir) || !strings.HasSuffix(s, "\ntrue") {
			t.Fatalf("%s", s)
		}
		t.Logf("%s", s)
	}
}

func TestReadOnlyFilesystem(t *testing.T) {
	d := t.TempDir()
	must(os.WriteFile(d+"/f", nil, 0666))
	if err := unix.Mount(d, d, "", unix.MS_BIND, ""); err != nil {
		t.Skip("cannot mount: ", err)
	}
	defer unix.Unmount(d, unix.MNT_DETACH)
	must(unix.Mount("", d, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	dir, err := StateDir(d+"/f", "")
	must(err)
	err = newLock(dir).TryLock()
	if !errors.Is(err, unix.EROFS) {
		t.Fatal(err)
	}
	t.Log(err)
}

func TestDiskFull(t *testing.T) {
	d := t.TempDir()
	if err := unix.Mount("tmpfs", d, "tmpfs", 0, "nr_inodes=2"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	defer unix.Unmount(d, unix.MNT_DETACH)
	must(os.WriteFile(d+"/f", nil, 0666))
	for i := 0; ; i++ { // with no, one, two inodes left
		dir, err := StateDir(d+"/f", "")
		must(err)
		err = newLock(dir).TryRLock()
		if err == nil {
			if i == 0 {
				t.Fatal("the disk was not full")
			}
			return
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		if i == 0 {
			t.Log(err)
		}
		if names := list(t, d); !slices.Equal(names, []string{"f"}) && !slices.Equal(names, []string{".f.flock", "f"}) {
			t.Fatalf("left: %q", names)
		}
		must(unix.Mount("", d, "", unix.MS_REMOUNT, "nr_inodes="+strconv.Itoa(3+i)))
	}
}
