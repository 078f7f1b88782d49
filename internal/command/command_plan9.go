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

func Run(argv []string, started func(pid int)) (int, error) {
	path, err := find(argv[0])
	if err != nil {
		return 0, err
	}
	pid, err := start(path, argv)
	if err != nil {
		return 0, err
	}
	started(pid)
	return Wait(pid)
}

// startWithPipe starts this program once more, with words that name a descriptor of the child's, the reading end of a pipe.
func startWithPipe(words func(fd int) []string) (pid int, writing *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, &ForkError{err}
	}
	defer r.Close()
	path, err := os.Executable()
	if err == nil {
		pid, err = start(path, words(3), r)
	}
	if err != nil {
		w.Close()
	}
	return pid, w, err
}

func start(path string, argv []string, more ...*os.File) (pid int, err error) {
	files := append([]*os.File{os.Stdin, os.Stdout, os.Stderr}, more...)
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Files: files})
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
