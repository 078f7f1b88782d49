package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const CanBecome = true

// Prepare returns our own process id, which the command will have.
func Prepare([]string) int { return os.Getpid() }

func Run(argv []string) (int, error) {
	path, err := find(argv[0])
	if err != nil {
		return 0, err
	}
	pid, err := start(path, argv)
	if err != nil {
		return 0, err
	}
	return Wait(pid)
}

func StartSelf(args []string) (pid int, err error) {
	path, err := os.Executable()
	if err != nil {
		return 0, &StartError{args[0], err}
	}
	return start(path, args)
}

func start(path string, argv []string) (pid int, err error) {
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, &StartError{argv[0], err}
	}
	return process.Pid, nil
}

func Wait(pid int) (int, error) {
	var message syscall.Waitmsg
	if err := syscall.WaitProcess(pid, &message); err != nil {
		return 0, &WaitError{err}
	}
	return exitNumber(message.Msg), nil
}

// exitNumber converts the message of wait(2), "name pid: text", to an exit status. The text is a number if the program was
// written for a system with numbers as exit statuses.
func exitNumber(msg string) int {
	if msg == "" {
		return 0
	}
	n, err := strconv.Atoi(msg[strings.LastIndexByte(msg, ' ')+1:])
	if err != nil || n == 0 {
		return 1
	}
	return n
}

func Become(argv []string) error {
	path, err := find(argv[0])
	if err == nil {
		err = &StartError{argv[0], syscall.Exec(path, argv, os.Environ())}
	}
	return err
}

// Find returns the path of the program called name in dir, or else in $path; "" if there is none.
func Find(name, dir string) string {
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); dir != "" && err == nil && !info.IsDir() {
		return path
	}
	path, _ = find(name)
	return path
}

func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		if wrapped, ok := err.(*exec.Error); ok {
			err = wrapped.Err
		}
		return "", &StartError{name, err}
	}
	return path, nil
}

// Shell returns the command that runs text in the shell.
func Shell(text string) []string { return []string{"/bin/rc", "-c", text} }

// BaseName returns the name of a program without its directory.
func BaseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
