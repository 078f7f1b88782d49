package compat_test

import (
	"encoding/json"
	"fmt"
	"go/build"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// On Linux, flock is built from the files of another system: "go build -overlay" lays them in without their build
// lines, and has no files of Linux alone. What cannot be built here stays as it is on Linux, or has an imitation.

// imitationsDir has the imitations, in a directory for each package. Their build lines keep them from every other
// build, and each of their functions is named imitate..., or is one that the rest of the package needs.
const imitationsDir = "imitations"

// cannotBeLaid are the files of other systems that cannot be run on Linux. Some were run on their own kernels; those that
// nobody has ever run are in a table of doc/systems.md, which says why.
var cannotBeLaid = append([]string{
	"fallback/machine_darwin.go",
	"fallback/machine_darwin.s",
	"internal/cstart/linkname_darwin.go",
	"internal/guard/dead_darwin.go",
	"internal/locks/ofd_darwin.go",
	"internal/termination/pending_bsd.go",
}, ranThere...)

// ranThere are those that were run on FreeBSD 12.2 and NetBSD 7.0.
var ranThere = []string{
	"fallback/machine_bsd.go",
	"internal/cstart/linkname_bsd.go",
	"internal/guard/clock_netbsd.go",
}

// staysOfLinux are the files of Linux in their place, where no imitation is.
var staysOfLinux = []string{"internal/cstart/linkname_linux.go", "internal/locks/ofd.go"}

// sourceFiles returns the files of the program and of its tests that are built for a system.
func sourceFiles(t *testing.T, system string) (files []string) {
	t.Helper()
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = system, runtime.GOARCH, false, []string{"flock_linkname"}
	for _, pattern := range []string{"../*", "../fallback/*", "../fallback/*/*", "../internal/*/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if ext := filepath.Ext(path); ext != ".go" && ext != ".s" {
				continue
			}
			matches, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
			if err != nil {
				t.Fatal(err)
			}
			if matches {
				files = append(files, strings.TrimPrefix(path, "../"))
			}
		}
	}
	return files
}

// without returns those in a list that are not in another one.
func without(list, other []string) (rest []string) {
	for _, one := range list {
		if !slices.Contains(other, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

// laidFiles returns the files of a system, and not of Linux, that its personalities build.
func laidFiles(t *testing.T, system string) []string {
	return without(without(sourceFiles(t, system), sourceFiles(t, "linux")), cannotBeLaid)
}

var buildLine = regexp.MustCompile(`(?m)^//go:build .*$`)

// overlay returns the file for go build -overlay, for a personality and, unless it is nil, for a fault.
func (p *personality) overlay(t *testing.T, m *mutant) string {
	t.Helper()
	dir, top := t.TempDir(), absolutePath(t, "..")
	replace := map[string]string{}
	for _, file := range without(without(sourceFiles(t, "linux"), sourceFiles(t, p.system)), staysOfLinux) {
		replace[filepath.Join(top, file)] = ""
	}
	// lay has the text of a file in the place of another one, under a name that says no system.
	lay := func(source, place string) {
		text := read(t, filepath.Join(top, source))
		if m != nil && m.file == source {
			text = m.apply(t, text)
		}
		copied := strings.ReplaceAll(source, "/", "-")
		writeTree(t, dir, map[string]string{copied: buildLine.ReplaceAllString(text, "")})
		replace[filepath.Join(top, place)] = filepath.Join(dir, copied)
	}
	for _, file := range laidFiles(t, p.system) {
		place := file
		if !isForLinux(file) {
			place = strings.TrimSuffix(file, ".go") + "_laid.go"
		}
		lay(file, place)
	}
	for _, name := range strings.Fields(p.imitates) {
		pkg, file := filepath.Split(name)
		in := "internal/" + pkg
		if pkg == "fallback/" {
			in = pkg
		}
		lay(filepath.Join("compat_test", imitationsDir, name+".go"), in+"imitate_"+file+"_laid.go")
		if pkg == "locks/" {
			replace[filepath.Join(top, "internal/locks/system_unix.go")] = ""
		}
	}
	if m != nil && !slices.Contains(laidFiles(t, p.system), m.file) {
		if _, isGone := replace[filepath.Join(top, m.file)]; isGone {
			t.Fatalf("%s is not in this program", m.file)
		}
		lay(m.file, m.file)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	writeTree(t, dir, map[string]string{"overlay": string(text)})
	return filepath.Join(dir, "overlay")
}

// isForLinux reports whether a file without a build line would be built for Linux: NAME_SYSTEM.go is not.
func isForLinux(file string) bool {
	c := build.Default
	c.GOOS = "linux"
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package x\n")), nil }
	matches, err := c.MatchFile("", filepath.Base(file))
	return err == nil && matches
}

func absolutePath(t *testing.T, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

// TestOnlyCompiled compares the table of files that nobody has run, in doc/systems.md, with those that are built for
// other systems of Unix and not for Linux, here or by a personality.
func TestOnlyCompiled(t *testing.T) {
	never := map[string]bool{}
	linux := sourceFiles(t, "linux")
	for _, system := range []string{"darwin", "dragonfly", "freebsd", "illumos", "netbsd", "openbsd"} {
		for _, file := range without(sourceFiles(t, system), linux) {
			never[file] = true
		}
	}
	for _, p := range personalities {
		for _, file := range laidFiles(t, p.system) {
			delete(never, file)
		}
	}
	if unknown := without(cannotBeLaid, slices.Collect(maps.Keys(never))); len(unknown) > 0 {
		t.Errorf("these are not built for another system alone, or are run: %v", unknown)
	}
	for _, file := range ranThere {
		delete(never, file)
	}
	_, section, _ := strings.Cut(read(t, "../doc/systems.md"), "\n## What is only compiled\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var told []string
	for _, row := range regexp.MustCompile(`(?m)^\| .+ \|$`).FindAllString(section, -1) {
		cell, _, _ := strings.Cut(row[1:], "|")
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			told = append(told, found[1])
		}
	}
	slices.Sort(told)
	if want := slices.Sorted(maps.Keys(never)); !slices.Equal(told, want) {
		t.Errorf("doc/systems.md names\n%s\nand never run are\n%s", fmt.Sprint(told), fmt.Sprint(want))
	}
}
