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

// On Windows a process cannot replace its program by another one.

const CanExec = false

// A Child is the process of a command that does not run yet: it was created suspended, in a job that ends when we end.
type Child struct {
	PID     int
	name    string
	job     windows.Handle
	process windows.ProcessInformation
}

func Prepare(argv []string) (*Child, error) {
	c := &Child{name: argv[0]}
	path, line, err := programAndLine(argv)
	if err == nil {
		err = c.create(path, line)
	}
	if err != nil {
		return nil, &StartError{argv[0], err}
	}
	c.PID = int(c.process.ProcessId)
	return c, nil
}

// Abandon ends the process.
func (c *Child) Abandon() { windows.TerminateProcess(c.process.Process, 1) }

func Run(argv []string, started func(pid int)) (int, error) {
	c, err := Prepare(argv)
	if err != nil {
		return 0, err
	}
	started(c.PID)
	return c.Run()
}

func (c *Child) Run() (int, error) {
	// Ctrl-C reaches the command too. We ignore it and wait until the command ends.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if _, err := windows.ResumeThread(c.process.Thread); err != nil {
		return 0, &StartError{c.name, err}
	}
	// Not before the command runs: if we were killed earlier, it would stay suspended for ever and keep the lock.
	if err := c.setKillWithUs(false); err != nil {
		return 0, &StartError{c.name, err}
	}
	if _, err := windows.WaitForSingleObject(c.process.Process, windows.INFINITE); err != nil {
		return 0, &WaitError{err}
	}
	var status uint32
	if err := windows.GetExitCodeProcess(c.process.Process, &status); err != nil {
		return 0, &WaitError{err}
	}
	return int(status), nil
}

// Exec runs the command and exits with its status.
func Exec(argv []string) error {
	status, err := Run(argv, func(int) {})
	if err == nil {
		os.Exit(status)
	}
	return err
}

// BecomeWhenTold is for systems on which a second flock becomes the command.
func BecomeWhenTold([]string) (told bool, err error) { return false, nil }

// setKillWithUs sets whether the command is killed when our last handle on its job is closed, which also happens when we
// end.
func (c *Child) setKillWithUs(kill bool) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if kill {
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	_, err := windows.SetInformationJobObject(c.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return err
}

func (c *Child) create(path, line string) (err error) {
	if c.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	if err := c.setKillWithUs(true); err != nil {
		return err
	}
	// Create the process in the job. If it joined the job later and we were killed in between, it would stay suspended.
	const procThreadAttributeJobList = 0x2000D
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return err
	}
	defer attributes.Delete()
	err = attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&c.job), unsafe.Sizeof(c.job))
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
		&startup.StartupInfo, &c.process)
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

// Find returns the path of the program called name in dir, or else in PATH; "" if there is none. Unlike a command, it is
// not searched for in the current directory.
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
