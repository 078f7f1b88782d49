package command

import "testing"

func TestCommandLine(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{[]string{"prog"}, `prog`},
		{[]string{`C:\Program Files\p.exe`, "a"}, `"C:\Program Files\p.exe" a`},
		{[]string{"p", ""}, `p ""`},
		{[]string{"p", "a b", "c\td"}, "p \"a b\" \"c\td\""},
		{[]string{"p", `say "hi"`}, `p "say \"hi\""`},
		{[]string{"p", `"`}, `p "\""`},
		{[]string{"p", `\`, `a\b`, `a\\b c`}, `p \ a\b "a\\b c"`},
		{[]string{"p", `dir name\`}, `p "dir name\\"`},
		{[]string{"p", `a\"b`}, `p "a\\\"b"`},
		{[]string{"p", `a\\" `}, `p "a\\\\\" "`},
		{[]string{"p", "é ü"}, `p "é ü"`},
	}
	for _, test := range tests {
		if got := commandLine(test.argv); got != test.want {
			t.Errorf("commandLine(%q) = %s, want %s", test.argv, got, test.want)
		}
	}
}

func TestIsCommandShell(t *testing.T) {
	const shell = `C:\Windows\system32\cmd.exe`
	for path, want := range map[string]bool{
		`C:\Windows\system32\cmd.exe`: true,
		`c:\windows\SYSTEM32\CMD.EXE`: true,
		`CMD`:                         true,
		`Cmd.Exe`:                     true,
		`C:\tools\cmdx.exe`:           false,
		`C:\tools\cmd.com`:            false,
	} {
		if isCommandShell(path, shell) != want {
			t.Errorf("isCommandShell(%q) = %v", path, !want)
		}
	}
}

func TestShellLine(t *testing.T) {
	tests := []struct {
		argv []string
		want string // empty: argv does not end with /s /c STRING
	}{
		{[]string{"cmd", "/d", "/s", "/c", `echo "a b" & exit 3`}, `cmd /d /s /c "echo "a b" & exit 3"`},
		{[]string{`C:\My Windows\cmd.exe`, "/S", "/C", "dir"}, `"C:\My Windows\cmd.exe" /S /C "dir"`},
		{[]string{"cmd", "/c", "echo", "hi"}, ""},
		{[]string{"cmd", "/s", "/c", "echo", "hi"}, ""},
		{[]string{"cmd"}, ""},
	}
	for _, test := range tests {
		got, ok := shellLine(test.argv)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("shellLine(%q) = %s, %v, want %s", test.argv, got, ok, test.want)
		}
	}
}

func TestBatchLine(t *testing.T) {
	tests := []struct {
		path string
		args []string
		want string
	}{
		{`C:\a b.bat`, nil, `cmd /d /e:on /v:off /c ""C:\a b.bat""`},
		{`a.cmd`, []string{"plain", "-x", `C:\dir\f.txt`}, `cmd /d /e:on /v:off /c ""a.cmd" plain -x C:\dir\f.txt"`},
		{`a.bat`, []string{"", "a b"}, `cmd /d /e:on /v:off /c ""a.bat" "" "a b""`},
		{`a.bat`, []string{"x&del *", "a|b", "^", "a,b=c;d"},
			`cmd /d /e:on /v:off /c ""a.bat" "x&del *" "a|b" "^" "a,b=c;d""`},
		{`a.bat`, []string{`"&calc`}, `cmd /d /e:on /v:off /c ""a.bat" """&calc""`},
		{`a.bat`, []string{`\"&calc`}, `cmd /d /e:on /v:off /c ""a.bat" "\\""&calc""`},
		{`a.bat`, []string{`dir\`}, `cmd /d /e:on /v:off /c ""a.bat" "dir\\""`},
		{`a.bat`, []string{"%PATH%"}, `cmd /d /e:on /v:off /c ""a.bat" "%%cd:~,%PATH%%cd:~,%""`},
		{`50%.bat`, []string{"%1"}, `cmd /d /e:on /v:off /c ""50%%cd:~,%.bat" "%%cd:~,%1""`},
		{`a.bat`, []string{"é"}, `cmd /d /e:on /v:off /c ""a.bat" "é""`},
	}
	for _, test := range tests {
		got, err := batchLine("cmd", test.path, test.args)
		if got != test.want || err != nil {
			t.Errorf("batchLine(%q, %q) = %s, %v, want %s", test.path, test.args, got, err, test.want)
		}
	}
	for _, arg := range []string{"a\nb", "a\rb", "a\x00b"} {
		if got, err := batchLine("cmd", "a.bat", []string{arg}); err == nil {
			t.Errorf("batchLine with %q = %s, want an error", arg, got)
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
