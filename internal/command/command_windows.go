package command

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"

	"example.org/flock/internal/cstart"
)

// Run runs a command with the handles that are inheritable, and returns its exit status.
func Run(argv []string, started func()) (int, error) {
	process, err := start(argv)
	if err != nil {
		return 0, NotExecuted(argv[0], err)
	}
	started()
	// Ctrl-C reaches the command too. We ignore it and wait until the command ends.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if _, err := windows.WaitForSingleObject(process, windows.INFINITE); err != nil {
		return 0, NotWaitedFor(err)
	}
	var status uint32
	if err := windows.GetExitCodeProcess(process, &status); err != nil {
		return 0, NotWaitedFor(err)
	}
	return int(status), nil
}

// Exec runs the command and exits with its status: on Windows a process cannot replace its program by another one.
func Exec(argv []string) error {
	status, err := Run(argv, func() {})
	if err == nil {
		os.Exit(status)
	}
	return err
}

// Missing returns the error of Run for a command of which there is no file.
func Missing(argv []string) error {
	if _, err := find(argv[0]); err != nil {
		return NotExecuted(argv[0], err)
	}
	return nil
}

func start(argv []string) (process windows.Handle, err error) {
	path, line, err := programAndLine(argv)
	if err != nil {
		return 0, err
	}
	app, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	text, err := windows.UTF16PtrFromString(line)
	if err != nil {
		return 0, err
	}
	startup := windows.StartupInfo{Flags: windows.STARTF_USESTDHANDLES}
	startup.Cb = uint32(unsafe.Sizeof(startup))
	startup.StdInput, startup.StdOutput, startup.StdErr = windows.Stdin, windows.Stdout, windows.Stderr
	for _, h := range []windows.Handle{windows.Stdin, windows.Stdout, windows.Stderr} {
		windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	}
	var info windows.ProcessInformation
	if err := windows.CreateProcess(app, text, nil, nil, true, 0, nil, nil, &startup, &info); err != nil {
		return 0, err
	}
	windows.CloseHandle(info.Thread)
	return info.Process, nil
}

// programAndLine finds the program for argv and returns its path and its command line.
func programAndLine(argv []string) (path, line string, err error) {
	path, err = find(argv[0])
	if err != nil {
		return "", "", err
	}
	if isBatch(path) {
		line, err = batchLine(commandShell(), path, argv[1:])
		return commandShell(), line, err
	}
	if isCommandShell(path, commandShell()) {
		if line, ok := shellLine(argv); ok {
			return path, line, nil
		}
	}
	return path, commandLine(argv), nil
}

// find returns the path of the program that name means to cmd.exe, or of a file that is named with its directory.
func find(name string) (path string, err error) {
	name = filepath.FromSlash(name)
	path, err = exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) { // found in the current directory
		return path, nil
	}
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || !strings.ContainsAny(name, `\:`) {
		return "", windows.ERROR_FILE_NOT_FOUND
	}
	return name, nil
}

// Find returns the path of the program called name in dir, or else in PATH; "" if there is none. Unlike a command, it
// is not searched for in the current directory.
func Find(name, dir string) string {
	dirs, _ := cstart.Getenv("PATH")
	for _, dir := range append([]string{dir}, filepath.SplitList(dirs)...) {
		if path, err := exec.LookPath(dir + `\` + name); dir != "" && err == nil {
			return path
		}
	}
	return ""
}

// Shell returns the command that runs text in the shell. It does not use SHELL: if
// that is set, its value is a path as that shell sees it, not one of Windows.
func Shell(text string) []string {
	if sh, err := find("sh"); err == nil {
		return []string{sh, "-c", text}
	}
	return []string{commandShell(), "/d", "/s", "/c", text}
}

// commandShell returns the path of cmd.exe.
func commandShell() string {
	if path, _ := cstart.Getenv("ComSpec"); path != "" {
		return path
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "cmd.exe"
	}
	return system + `\cmd.exe`
}

// BaseName returns the name of a program without directory and extension.
func BaseName(path string) string { return windowsName(path) }

// Hint says nothing here about a program that cannot be executed.
func Hint(string, error) string { return "" }

// Backends returns nothing: there are no programs of backends for Windows.
func Backends(string, func(string) bool) []string { return nil }
