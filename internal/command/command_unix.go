//go:build unix

package command

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
	"example.org/flock/internal/failure"
	"example.org/flock/internal/pathsearch"
	"example.org/flock/internal/sys"
)

// BaseName returns the name of a program without its directory.
func BaseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Run runs a command and returns its exit status, or 128 plus the number of the signal that killed it. It calls started
// when the command has started.
func Run(argv []string, started func()) (int, error) {
	pid, err := Start(argv, syscall.SysProcAttr{}, 2)
	if err != nil {
		return 0, err
	}
	started()
	return Wait(pid)
}

// Start starts a command with attributes of the system and the descriptor stderr as its standard error, -1 for none. It
// returns its process id.
func Start(argv []string, attr syscall.SysProcAttr, stderr int) (pid int, err error) {
	restoreSignals()
	err = search(argv, func(path string, argv []string) (err error) {
		if err := unix.Stat(path, new(unix.Stat_t)); err != nil {
			return err // saves a fork
		}
		pid, err = spawn(path, argv, attr, stderr)
		return err
	})
	return pid, err
}

// StartSelf starts this program once more with other words, of which the first is the name, and the descriptor stderr
// as its standard error. It returns its process id.
func StartSelf(args []string, attr syscall.SysProcAttr, stderr int) (pid int, err error) {
	restoreSignals()
	exe, err := executable()
	if err != nil { // NetBSD and OpenBSD know it only by /proc, or by the name that it was started by
		return 0, failure.New(failure.ExOSErr, "cannot find the file of this program, to start it once more", err)
	}
	pid, err = spawn(exe, args, attr, stderr)
	if errno, ok := err.(syscall.Errno); ok {
		err = NotExecuted(exe, errno)
	}
	return pid, err
}

// Exec replaces this process by the command.
func Exec(argv []string) error {
	restoreSignals()
	env := cstart.Environ()
	return search(argv, func(path string, argv []string) error {
		return syscall.Exec(path, argv, env)
	})
}

// Missing returns the error of Start and Exec for a command of which there is no file; nil: there is one, or another
// error.
func Missing(argv []string) error {
	err := search(argv, func(path string, _ []string) error { return unix.Stat(path, new(unix.Stat_t)) })
	if errors.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}

// executable returns the path of this program. On Linux that is one by which the program can be started even when its
// file was removed or replaced.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// restoreSignals restores the signal dispositions and the mask that flock got, for the program that it starts. The
// exception is SIGCHLD, which gets its default disposition: if it were ignored, there would be no exit status to wait
// for. util-linux does the same.
func restoreSignals() {
	if cstart.Ignored(syscall.SIGCHLD) { // a handler gets the default in the program, and may be needed here
		cstart.DefaultAction(syscall.SIGCHLD)
	}
	cstart.RestoreMask()
}

// Find returns the path of the program called name in dir, or else in PATH; "" if there is none. A name with a slash is
// a path itself, and a program if it may be executed. In PATH, what may not be executed is found only if there is no
// other, as by execvp(3).
func Find(name, dir string) (path string) {
	look := func(file string) error { // answers as execve(2) would, and sets path
		info, err := os.Stat(file)
		switch {
		case err != nil, !info.Mode().IsRegular():
			return syscall.ENOENT
		case unix.Access(file, unix.X_OK) == nil:
			path = file
			return nil
		}
		path = cmp.Or(path, file)
		return syscall.EACCES
	}
	switch {
	case strings.Contains(name, "/"):
		if look(name) != nil {
			return ""
		}
	case dir == "" || look(filepath.Join(dir, name)) != nil:
		searchPath(name, look)
	}
	if path != "" && !strings.Contains(path, "/") {
		path = "./" + path // else it would be searched for in PATH again
	}
	return path
}

// spawn starts a program in a child. A bare errno means that the child cannot execute the program.
//
// The error of a fork and that of the child come out of ForkExec alike. ENOMEM, for example, says that there is no
// memory for another process, or that the program is too large for it. So a second child is forked, which has nothing
// to execute: if that can be done, the error was that of the first child. EAGAIN, EMFILE and ENFILE mean the fork: a
// second one could succeed, because the lack was one of a moment.
func spawn(path string, argv []string, attr syscall.SysProcAttr, stderr int) (pid int, err error) {
	files, done := standardFiles(stderr)
	defer done()
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: cstart.Environ(), Files: files, Sys: &attr})
	switch {
	case err == nil:
		return pid, nil
	case sys.Is(err, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE), !canFork(files):
		return 0, NotForked(err)
	}
	return 0, err
}

// canFork reports whether a child can be created.
func canFork(files []uintptr) bool {
	_, err := syscall.ForkExec("", []string{""}, &syscall.ProcAttr{Files: files})
	return err == syscall.ENOENT
}

// standardFiles returns what the child gets as descriptors 0, 1 and 2; that is 0, 1 and stderr here. One that is
// closed, or is marked close-on-exec (the lock file's with --close), is closed in the child. In the place of one that
// is closed here it opens a placeholder until done: ForkExec could get the number for its own pipe.
func standardFiles(stderr int) (files []uintptr, done func()) {
	const closed = ^uintptr(0)
	var placeholders []int
	for fd := range uintptr(3) {
		flags, err := unix.FcntlInt(fd, syscall.F_GETFD, 0)
		isOpen := err == nil
		switch {
		case fd == 2 && stderr != 2:
			files = append(files, uintptr(stderr))
		case !isOpen, flags&syscall.FD_CLOEXEC != 0:
			files = append(files, closed)
		default:
			files = append(files, fd)
		}
		if !isOpen {
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

// Wait waits for a child and returns its exit status, or 128 plus the number of the signal that killed it.
func Wait(pid int) (int, error) {
	var status syscall.WaitStatus
	_, err := sys.Wait4(pid, &status, 0)
	switch {
	case err != nil:
		return 0, NotWaitedFor(err)
	case status.Signaled():
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// search finds the command as execvp(3) does, and starts it. It looks for a name without a slash in each directory of
// PATH; an empty part of PATH is the current directory. It skips files that may not be executed, and reports that error
// if it finds no other file; otherwise it reports the last error. /bin/sh runs a file of unknown format as a script.
func search(argv []string, start func(path string, argv []string) error) error {
	name := argv[0]
	try := func(path string) error {
		err := start(path, argv)
		if err == syscall.ENOEXEC {
			err = start("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...))
		}
		return err
	}
	err := searchPath(name, try)
	if errno, ok := err.(syscall.Errno); ok {
		return NotExecuted(name, errno)
	}
	return err
}

// searchPath calls try with the paths that a name may stand for, until one succeeds or no other is to be tried. It
// returns the error that execvp(3) would return.
func searchPath(name string, try func(path string) error) error {
	if strings.Contains(name, "/") {
		return try(name)
	}
	dirs, set := cstart.Getenv("PATH")
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

// Shell returns the command that runs text in the user's shell.
func Shell(text string) []string {
	shell, _ := cstart.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	return []string{shell, "-c", text}
}
