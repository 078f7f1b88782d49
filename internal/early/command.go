//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"example.org/flock/internal/pathsearch"
)

// execute runs the command and exits with its status; with --no-fork it replaces this process by the command. It
// returns only after a failure, which says which process returns: the parent, or the one that was to be the command.
func (p *process) execute(fd int, o *options) Failure {
	unignoreChildren()
	if o.noFork {
		return Failure{Execute: p.become(o)}
	}
	pid, errno := call(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0)
	switch {
	case errno != 0:
		// The same text as of package command. The threads of the Go runtime could not be created either.
		p.fail(writeErrno(write(p.begin(), "fork failed"), errno), exitOSErr)
	case pid != 0: // this is the parent
		return Failure{Wait: await(pid)}
	}
	// This is the child.
	if o.closeFd {
		closeFd(fd)
	}
	return Failure{Execute: p.become(o)}
}

// await waits for the child and exits with its status, or with 128 plus the number of the signal that killed it. It
// returns only if there is no status, with the error.
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

// become replaces this process by the command, and returns only after an error. The words of the command are the end of
// argv. For -c, the words of the shell are put in the place of the last three until an error:
//
//	flock  FILE       --command  TEXT
//	flock  /bin/bash  -c         TEXT
func (p *process) become(o *options) syscall.Errno {
	if !o.shell {
		return p.execvp(o.command)
	}
	option := o.command
	before, written := at(p.argv, option-1), at(p.argv, option)
	set(p.argv, option-1, p.userShell())
	set(p.argv, option, cString(dashC))
	errno := p.execvp(option - 1)
	set(p.argv, option-1, before)
	set(p.argv, option, written)
	return errno
}

// userShell returns the program that runs the text of -c.
func (p *process) userShell() unsafe.Pointer {
	if p.shell >= 0 {
		value := unsafe.Add(at(p.environment, p.shell), len("SHELL="))
		if *(*byte)(value) != 0 {
			return value
		}
	}
	return cString(defaultShell)
}

// buffer holds a path or a message.
var buffer [pathsearch.Size]byte

// execvp executes the command that begins with word number first, as execvp(3) does.
func (p *process) execvp(first int) syscall.Errno {
	name := text(at(p.argv, first))
	if index(name, '/') < len(name) {
		return p.execFile(at(p.argv, first), first)
	}
	path := pathsearch.Default
	if p.path >= 0 {
		path = text(unsafe.Add(at(p.environment, p.path), len("PATH=")))
	}
	search := pathsearch.Begin(name, path)
	for search.Next(&buffer) > 0 {
		search.Failed(p.execFile(unsafe.Pointer(&buffer), first))
	}
	return search.Result()
}

// execFile executes the file with the words from first on. If the kernel does not know its format, /bin/sh runs it as a
// script. For that, two words are others until an error:
//
//	FILE     NAME      ARGUMENT...
//	/bin/sh  DIR/NAME  ARGUMENT...
func (p *process) execFile(file unsafe.Pointer, first int) syscall.Errno {
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
