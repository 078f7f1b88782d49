//go:build unix

package fallback

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLinkInThePlaceOfAFIFO puts a link to a file where a lifeline is made, as somebody could who may write into the
// state directory, between two calls: the file keeps its mode, and nothing is written into it.
func TestLinkInThePlaceOfAFIFO(t *testing.T) {
	path := t.TempDir()
	d, err := openDirectory(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(path, "new,x")); err != nil {
		t.Fatal(err)
	}
	d.makeFIFO(path, "new,x") // it is there already, as after a second answer of NFS
	d.Ring("new,x")
	if _, err := d.OpenLifeline("new,x"); err != unix.EINVAL {
		t.Errorf("opened: %v", err)
	}
	of, err := os.Stat(file)
	if err != nil || of.Mode() != 0o600 {
		t.Errorf("the file behind the link: %v, %v", of.Mode(), err)
	}
	if text, _ := os.ReadFile(file); string(text) != "text" {
		t.Errorf("the file behind the link has %q", text)
	}
}
