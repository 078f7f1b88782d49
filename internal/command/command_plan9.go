package command

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// commandProcess returns our own process id, which the command will have.
func commandProcess([]string) int { return os.Getpid() }

// runCommand runs the command and returns its exit status.
func runCommand(command []string) (int, error) {
	path, err := findCommand(command[0])
	if err != nil {
		return 0, err
	}
	pid, err := start(path, command)
	if err != nil {
		return 0, err
	}
	return await(pid)
}

// startSelf starts flock once more and returns its process id.
func startSelf(args []string) (pid int, err error) {
	path, err := os.Executable()
	if err != nil {
		return 0, &stepError{executing, args[0], err}
	}
	return start(path, args)
}

func start(path string, argv []string) (pid int, err error) {
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, &stepError{executing, argv[0], err}
	}
	return process.Pid, nil
}

// await returns the exit status of a child.
func await(pid int) (int, error) {
	var message syscall.Waitmsg
	if err := syscall.WaitProcess(pid, &message); err != nil {
		return 0, &stepError{waiting, "", err}
	}
	return exitNumber(message.Msg), nil
}

// exitNumber makes an exit status of what wait(2) gives, "name pid: text". Text
// is a number if the program thinks of a system that has such.
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

// become turns this process into the command. It returns only if that fails.
func become(command []string) error {
	path, err := findCommand(command[0])
	if err == nil {
		err = &stepError{executing, command[0], syscall.Exec(path, command, os.Environ())}
	}
	return err
}

func findCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		if wrapped, ok := err.(*exec.Error); ok {
			err = wrapped.Err
		}
		return "", &stepError{executing, name, err}
	}
	return path, nil
}

// shellCommand is the command that -c means.
func shellCommand(text string) []string { return []string{"/bin/rc", "-c", text} }

func getenv(name string) (value string, set bool) { return os.LookupEnv(name) }

// programName is our name for messages.
func programName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
