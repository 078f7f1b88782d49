package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// No process can become another here. So that the lock can belong to the
// command, the command is started before the lock is taken, suspended, and
// resumed afterwards.

// command is the command that was started; the zero value if it was not.
var command struct {
	windows.ProcessInformation
	job windows.Handle
	err error
}

// commandProcess starts the command suspended, if that has not been done, and
// returns its process id. If there is no command, or it cannot be started, which
// is told by runCommand, it returns our own.
func commandProcess(argv []string) int {
	if len(argv) == 0 || !start(argv) {
		return os.Getpid()
	}
	return int(command.ProcessId)
}

// start starts the command suspended, if that has not been tried.
func start(argv []string) bool {
	if command.Process == 0 && command.err == nil {
		command.err = startSuspended(argv)
	}
	return command.err == nil
}

// runCommand runs the command and returns its exit status.
func runCommand(argv []string) (int, error) {
	if !start(argv) {
		return 0, command.err
	}
	// Ctrl-C reaches the command too. We wait for what it makes of that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if _, err := windows.ResumeThread(command.Thread); err != nil {
		return 0, &stepError{executing, argv[0], err}
	}
	// Not before it runs: or, were we killed between the two, the command
	// would be suspended for ever, and keep the lock.
	if err := killWithUs(false); err != nil {
		return 0, &stepError{executing, argv[0], err}
	}
	if _, err := windows.WaitForSingleObject(command.Process, windows.INFINITE); err != nil {
		return 0, &stepError{waiting, "", err}
	}
	var status uint32
	if err := windows.GetExitCodeProcess(command.Process, &status); err != nil {
		return 0, &stepError{waiting, "", err}
	}
	return int(status), nil
}

// become runs the command in place of becoming it.
func become(argv []string) error {
	status, err := runCommand(argv)
	if err == nil {
		os.Exit(status)
	}
	return err
}

// killWithUs sets whether the command ends when our last handle on its job is
// closed, by our end at the latest.
func killWithUs(kill bool) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if kill {
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	_, err := windows.SetInformationJobObject(command.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return err
}

// startSuspended creates the process of the command within a job that ends
// with us.
func startSuspended(argv []string) error {
	path, line, err := programAndLine(argv)
	if err == nil {
		err = createSuspended(path, line)
	}
	if err != nil {
		return &stepError{executing, argv[0], err}
	}
	return nil
}

func createSuspended(path, line string) (err error) {
	if command.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	if err := killWithUs(true); err != nil {
		return err
	}
	// Born in the job: were it put there afterwards, a kill of us between the
	// two would leave it suspended.
	const procThreadAttributeJobList = 0x2000D
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return err
	}
	defer attributes.Delete()
	err = attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&command.job), unsafe.Sizeof(command.job))
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
		&startup.StartupInfo, &command.ProcessInformation)
}

// programAndLine finds the program that argv means, and writes its command
// line.
func programAndLine(argv []string) (path, line string, err error) {
	path, err = findCommand(argv[0])
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

func findCommand(name string) (path string, err error) {
	dirs, _ := getenv("PATH")
	extensions, _ := getenv("PATHEXT")
	_, notHere := getenv("NoDefaultCurrentDirectoryInExePath") // as cmd.exe has it
	for _, file := range commandFiles(filepath.FromSlash(name), dirs, extensions, !notHere) {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
	}
	return "", windows.ERROR_FILE_NOT_FOUND
}

// shellCommand is the command that -c means. SHELL, if it is set, is a path of
// the sh that set it, and not one of the system's.
func shellCommand(text string) []string {
	if sh, err := findCommand("sh"); err == nil {
		return []string{sh, "-c", text}
	}
	return []string{commandShell(), "/d", "/s", "/c", text}
}

// commandShell returns the path of cmd.exe.
func commandShell() string {
	if path, _ := getenv("ComSpec"); path != "" {
		return path
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "cmd.exe"
	}
	return system + `\cmd.exe`
}

func getenv(name string) (value string, set bool) { return os.LookupEnv(name) }

// programName is our name for messages.
func programName(path string) string { return windowsName(path) }
