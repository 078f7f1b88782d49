package fallback

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// A contender that has opened the token and not yet renamed it must not take it from one who was faster.
func TestMoveTakesOnlyWhatItNames(t *testing.T) {
	dir, err := os.MkdirTemp("", "move") // t.TempDir is not removed by Wine 8
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "free"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := openDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := d.root.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		handle.Close()
		d.close()
		os.Remove(filepath.Join(dir, "first"))
		os.Remove(dir)
	}()

	first, err := openAlone(windows.Handle(handle.Fd()), "free")
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() { second <- d.rename("free", d, "second") }()
	for range 20 {
		select {
		case err := <-second:
			t.Fatalf("the second got by while the first was at it: %v", err)
		default:
			windows.SleepEx(5, false)
		}
	}
	if err := setName(first, windows.Handle(handle.Fd()), "first"); err != nil {
		t.Fatal(err)
	}
	windows.CloseHandle(first)
	if err := <-second; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second move: %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := d.root.Lstat("first"); err != nil {
		t.Error(err)
	}
}
