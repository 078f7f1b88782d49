//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/pathsearch"
)

// runCommand runs the command and returns its exit status, or 128 plus the
// number of the signal that killed it.
func runCommand(command []string) (int, error) {
	prepareFork()
	env := environ()
	var pid int
	err := search(command, func(path string, argv []string) (err error) {
		if err := unix.Stat(path, new(unix.Stat_t)); err != nil {
			return err // without a fork
		}
		pid, err = spawn(path, argv, env)
		return err
	})
	if err != nil {
		return 0, err
	}
	return await(pid)
}

// startSelf starts flock once more and returns its process id.
func startSelf(args []string) (pid int, err error) {
	prepareFork()
	exe, err := os.Executable()
	if err != nil {
		return 0, &stepError{executing, args[0], err}
	}
	pid, err = spawn(exe, args, environ())
	if _, told := err.(*stepError); told || err == nil {
		return pid, err
	}
	return 0, &stepError{executing, exe, err}
}

// prepareFork has the signals reach a child as flock got them, but for an
// ignored SIGCHLD: then there would be no exit status to wait for.
func prepareFork() {
	defaultAction(syscall.SIGCHLD)
	restoreMask()
}

func spawn(path string, argv, env []string) (pid int, err error) {
	files, done := standardFiles()
	defer done()
	return forkExec(path, argv, &syscall.ProcAttr{Env: env, Files: files})
}

// standardFiles hands on what flock has as descriptors 0, 1 and 2: a closed one
// stays closed, as does the lock file's with --close. The function returned is
// to be called after the fork.
func standardFiles() (files []uintptr, done func()) {
	var placeholders []int
	for fd := range uintptr(3) {
		flags, err := unix.FcntlInt(fd, syscall.F_GETFD, 0)
		if err != nil || flags&syscall.FD_CLOEXEC != 0 {
			files = append(files, ^uintptr(0))
		} else {
			files = append(files, fd)
		}
		if err != nil {
			// Lest ForkExec get such a number for its own pipe.
			if null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
				placeholders = append(placeholders, null)
			}
		}
	}
	return files, func() {
		for _, fd := range placeholders {
			syscall.Close(fd)
		}
	}
}

// await returns the exit status of a child.
func await(pid int) (int, error) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, &stepError{waiting, "", err}
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
}

// become turns this process into the command. It returns only if that fails.
func become(command []string) error {
	defaultAction(syscall.SIGCHLD) // so does the reference
	restoreMask()
	env := environ()
	return search(command, func(path string, argv []string) error {
		return syscall.Exec(path, argv, env)
	})
}

// search finds the command as execvp(3) does, and starts it: a name without a
// slash is looked for in each directory of PATH, an empty one being the
// current; what may not be executed is passed over, and told if nothing else
// is found, or else the last error is; a file of no known format is a script
// for /bin/sh.
func search(command []string, start func(path string, argv []string) error) error {
	name := command[0]
	try := func(path string) error {
		err := start(path, command)
		if err == syscall.ENOEXEC {
			err = start("/bin/sh", append([]string{"/bin/sh", path}, command[1:]...))
		}
		return err
	}
	result := error(syscall.ENOENT)
	switch {
	case strings.Contains(name, "/"):
		result = try(name)
	case name != "":
		result = tryPath(name, try)
	}
	if _, told := result.(*stepError); told || result == nil {
		return result
	}
	return &stepError{executing, name, result}
}

func tryPath(name string, try func(path string) error) error {
	dirs, set := getenv("PATH")
	if !set {
		dirs = pathsearch.Default
	}
	var path [pathsearch.Size]byte
	search := pathsearch.Begin(name, dirs)
	for n := search.Next(&path); n > 0; n = search.Next(&path) {
		err := try(string(path[:n]))
		errno, failed := err.(syscall.Errno)
		if !failed {
			return err
		}
		search.Failed(errno)
	}
	return search.Result()
}

// getenv looks a variable up without the map that os.Getenv makes first.
func getenv(name string) (value string, set bool) {
	for _, entry := range environ() {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// shellCommand is the command that -c means: the user's shell with the text.
func shellCommand(text string) []string {
	shell, _ := getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	return []string{shell, "-c", text}
}

// commandProcess returns our own process id, which the command will have.
func commandProcess([]string) int { return syscall.Getpid() }

// programName is our name for messages.
func programName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
