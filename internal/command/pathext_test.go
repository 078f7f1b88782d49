package command

import (
	"slices"
	"testing"
)

func TestCommandFiles(t *testing.T) {
	tests := []struct {
		name, path, pathext string
		here                bool
		want                []string
	}{
		{"p", `C:\a;D:\b\`, ".EXE;.CMD", false, []string{`C:\a\p.EXE`, `C:\a\p.CMD`, `D:\b\p.EXE`, `D:\b\p.CMD`}},
		{"p", `C:\a`, ".EXE", true, []string{`.\p.EXE`, `C:\a\p.EXE`}},
		{"p.exe", `C:\a`, ".EXE;.BAT", false, []string{`C:\a\p.exe`, `C:\a\p.exe.EXE`, `C:\a\p.exe.BAT`}},
		{"p", `C:\a`, "", false, []string{`C:\a\p.COM`, `C:\a\p.EXE`, `C:\a\p.BAT`, `C:\a\p.CMD`}},
		{`dir.d\p`, `C:\a`, ".EXE", true, []string{`dir.d\p.EXE`, `dir.d\p`}},
		{`./p.bat`, `C:\a`, ".EXE", true, []string{`./p.bat`, `./p.bat.EXE`}},
		{`C:p`, `D:\a`, ".EXE", true, []string{`C:p.EXE`, `C:p`}},
		{"p", `"C:\a;b";;D:\"x y"\z`, ".EXE", false, []string{`C:\a;b\p.EXE`, `D:\x y\z\p.EXE`}},
		{"p", "", ".EXE", false, nil},
		{"", `C:\a`, ".EXE", true, nil},
		{".profile", `C:\a`, ".EXE", false, []string{`C:\a\.profile.EXE`}},
	}
	for _, test := range tests {
		if got := commandFiles(test.name, test.path, test.pathext, test.here); !slices.Equal(got, test.want) {
			t.Errorf("commandFiles(%q, %q, %q, %v) = %q, want %q", test.name, test.path, test.pathext, test.here, got, test.want)
		}
	}
}

func TestIsBatch(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\a.bat`: true, `a.CMD`: true, `a.Bat`: true, `a.bat.exe`: false, `bat`: false, `a.exe`: false, "": false,
	} {
		if got := isBatch(path); got != want {
			t.Errorf("isBatch(%q) = %v", path, got)
		}
	}
}

func TestWindowsName(t *testing.T) {
	for path, want := range map[string]string{
		`C:\bin\flock.exe`: "flock", `C:/bin/FLOCK.EXE`: "FLOCK", "flock": "flock", `D:flock.exe`: "flock",
		".exe": ".exe", `a\flock-1.2`: "flock-1.2",
	} {
		if got := windowsName(path); got != want {
			t.Errorf("windowsName(%q) = %q, want %q", path, got, want)
		}
	}
}
