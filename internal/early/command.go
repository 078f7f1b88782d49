//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"example.org/flock/internal/pathsearch"
)

// execute runs the command and ends with its exit status, or, with --no-fork,
// becomes it. It returns if that fails; with a fork, in the child.
func (p *process) execute(fd int, o *options) {
	var standard sigaction
	setAction(syscall.SIGCHLD, &standard, nil) // else there may be no status to wait for
	if !o.noFork {
		pid, errno := call(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0)
		if errno != 0 {
			p.reportFork(errno)
			giveUp(Forking, errno)
			return
		}
		if pid != 0 {
			giveUp(Waiting, await(pid))
			return
		}
		if o.closeFd {
			closeFd(fd)
		}
	}
	giveUp(Executing, p.become(o))
}

// await ends with the exit status of the child, or with 128 and the number of
// the signal that killed it. It returns the error if there is no status.
func await(pid uintptr) syscall.Errno {
	var status uint32
	for {
		_, errno := call(syscall.SYS_WAIT4, pid, address(unsafe.Pointer(&status)), 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		if signal := status & 0x7f; signal != 0 {
			exit(128 + int(signal))
		}
		exit(int(status >> 8 & 0xff))
	}
}

const (
	defaultShell = "/bin/sh\x00"
	dashC        = "-c\x00"
)

// become turns the process into the command, and returns the error if that
// fails. The words of the command are those of the command line. There is at
// least one word before them besides our own name, and what -c means needs one
// more than that.
func (p *process) become(o *options) syscall.Errno {
	first := o.command
	if !o.shell {
		return p.execvp(first)
	}
	shell := cString(defaultShell)
	if p.shell >= 0 {
		value := unsafe.Add(at(p.environment, p.shell), len("SHELL="))
		if *(*byte)(value) != 0 {
			shell = value
		}
	}
	before, option := at(p.argv, first-1), at(p.argv, first)
	set(p.argv, first-1, shell)
	set(p.argv, first, cString(dashC))
	errno := p.execvp(first - 1)
	set(p.argv, first-1, before)
	set(p.argv, first, option)
	return errno
}

// buffer is for a path or a message.
var buffer [pathsearch.Size]byte

// execvp executes the command that begins at that word, as execvp(3) does.
func (p *process) execvp(first int) syscall.Errno {
	name := text(at(p.argv, first))
	for i := range len(name) {
		if name[i] == '/' {
			return p.exec(at(p.argv, first), first)
		}
	}
	path := pathsearch.Default
	if p.path >= 0 {
		path = text(unsafe.Add(at(p.environment, p.path), len("PATH=")))
	}
	search := pathsearch.Begin(name, path)
	for search.Next(&buffer) > 0 {
		search.Failed(p.exec(unsafe.Pointer(&buffer), first))
	}
	return search.Result()
}

// exec executes the file with the words from first on. If its format is not
// known, it is a script for /bin/sh.
func (p *process) exec(file unsafe.Pointer, first int) syscall.Errno {
	errno := p.execve(file, first)
	if errno != syscall.ENOEXEC {
		return errno
	}
	before, name := at(p.argv, first-1), at(p.argv, first)
	set(p.argv, first-1, cString(defaultShell))
	set(p.argv, first, file)
	errno = p.execve(cString(defaultShell), first-1)
	set(p.argv, first-1, before)
	set(p.argv, first, name)
	return errno
}

func (p *process) execve(file unsafe.Pointer, first int) syscall.Errno {
	_, errno := call(syscall.SYS_EXECVE, address(file), address(slot(p.argv, first)), address(p.environment), 0)
	return errno
}

const exitOSErr = 71 // EX_OSERR

// reportFork tells why there is no child, in the words of the ordinary way, and
// ends. It returns if the reason is none of the usual ones.
func (p *process) reportFork(errno syscall.Errno) {
	why := ""
	switch errno {
	case syscall.EAGAIN:
		why = "Resource temporarily unavailable"
	case syscall.ENOMEM:
		why = "Cannot allocate memory"
	case syscall.EPERM:
		why = "Operation not permitted"
	case syscall.ENOSYS:
		why = "Function not implemented"
	default:
		return
	}
	name := text(at(p.argv, 0))
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	n := write(0, name)
	n = write(n, ": fork failed: ")
	n = write(n, why)
	n = write(n, "\n")
	call(syscall.SYS_WRITE, 2, address(unsafe.Pointer(&buffer)), uintptr(n), 0)
	exit(exitOSErr)
}

// write puts as much of s into buffer from n on as there is room for, and
// returns where that ends.
func write(n int, s string) int {
	for i := 0; i < len(s) && n < len(buffer); i++ {
		buffer[n] = s[i]
		n++
	}
	return n
}
