package command

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"

	"example.org/flock/internal/cstart"
)

// On Windows a process cannot replace its program by another one. The lock can still belong to the command: flock starts
// the command suspended, takes the lock for it, and resumes it.

const CanBecome = false

// child is the command that was started, or the zero value.
var child struct {
	windows.ProcessInformation
	job windows.Handle
	err error
}

// Prepare starts the command suspended and returns its process id. It returns our own id if there is no command, or if the
// command cannot be started, which Run reports.
func Prepare(argv []string) int {
	if len(argv) == 0 || !startOnce(argv) {
		return os.Getpid()
	}
	return int(child.ProcessId)
}

// startOnce starts the command suspended, unless an earlier call did or tried to.
func startOnce(argv []string) bool {
	if child.Process == 0 && child.err == nil {
		child.err = startSuspended(argv)
	}
	return child.err == nil
}

func Run(argv []string) (int, error) {
	if !startOnce(argv) {
		return 0, child.err
	}
	// Ctrl-C reaches the command too. We ignore it and wait until the command ends.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if _, err := windows.ResumeThread(child.Thread); err != nil {
		return 0, &StartError{argv[0], err}
	}
	// Not before the command runs: if we were killed earlier, it would stay suspended for ever and keep the lock.
	if err := setKillWithUs(false); err != nil {
		return 0, &StartError{argv[0], err}
	}
	if _, err := windows.WaitForSingleObject(child.Process, windows.INFINITE); err != nil {
		return 0, &WaitError{err}
	}
	var status uint32
	if err := windows.GetExitCodeProcess(child.Process, &status); err != nil {
		return 0, &WaitError{err}
	}
	return int(status), nil
}

// Become runs the command and exits with its status.
func Become(argv []string) error {
	status, err := Run(argv)
	if err == nil {
		os.Exit(status)
	}
	return err
}

// StartSelf and Wait are for systems on which a second flock becomes the child.

func StartSelf(args []string) (int, error) { return 0, &StartError{args[0], errors.ErrUnsupported} }

func Wait(int) (int, error) { return 0, &WaitError{errors.ErrUnsupported} }

// setKillWithUs sets whether the command is killed when our last handle on its job is closed, which also happens when we
// end.
func setKillWithUs(kill bool) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if kill {
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	_, err := windows.SetInformationJobObject(child.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return err
}

// startSuspended creates the process of the command in a job that ends when we end.
func startSuspended(argv []string) error {
	path, line, err := programAndLine(argv)
	if err == nil {
		err = createSuspended(path, line)
	}
	if err != nil {
		return &StartError{argv[0], err}
	}
	return nil
}

func createSuspended(path, line string) (err error) {
	if child.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	if err := setKillWithUs(true); err != nil {
		return err
	}
	// Create the process in the job. If it joined the job later and we were killed in between, it would stay suspended.
	const procThreadAttributeJobList = 0x2000D
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return err
	}
	defer attributes.Delete()
	err = attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&child.job), unsafe.Sizeof(child.job))
	if err != nil {
		return err
	}
	app, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	text, err := windows.UTF16PtrFromString(line)
	if err != nil {
		return err
	}
	startup := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	startup.Cb = uint32(unsafe.Sizeof(startup))
	startup.Flags = windows.STARTF_USESTDHANDLES
	startup.StdInput, startup.StdOutput, startup.StdErr = windows.Stdin, windows.Stdout, windows.Stderr
	for _, h := range []windows.Handle{windows.Stdin, windows.Stdout, windows.Stderr} {
		windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	}
	return windows.CreateProcess(app, text, nil, nil, true,
		windows.CREATE_SUSPENDED|windows.EXTENDED_STARTUPINFO_PRESENT, nil, nil,
		&startup.StartupInfo, &child.ProcessInformation)
}

// programAndLine finds the program for argv and returns its path and its command
// line.
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

func find(name string) (path string, err error) {
	dirs, _ := cstart.Getenv("PATH")
	_, notHere := cstart.Getenv("NoDefaultCurrentDirectoryInExePath") // as cmd.exe has it
	path = search(filepath.FromSlash(name), dirs, !notHere)
	if path == "" {
		return "", windows.ERROR_FILE_NOT_FOUND
	}
	return path, nil
}

// Find returns the path of the program called name in dir, or else in PATH; "" if there is none. Unlike a command, it is
// not searched for in the current directory.
func Find(name, dir string) string {
	dirs, _ := cstart.Getenv("PATH")
	return search(name, `"`+dir+`";`+dirs, false)
}

// search returns the first file that name can mean, or "".
func search(name, dirs string, here bool) string {
	extensions, _ := cstart.Getenv("PATHEXT")
	for _, file := range commandFiles(name, dirs, extensions, here) {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file
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
