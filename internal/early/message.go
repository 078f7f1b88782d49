//go:build linux && (amd64 || arm64)

package early

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	status "example.org/flock/internal/failure"
)

// The exit statuses of messages.
const (
	exitUnwritten   = 1 // the message cannot be written
	exitNoStatus    = 1 // as in util-linux
	exitUnavailable = status.ExUnavailable
	exitOSErr       = status.ExOSErr
)

// fail prints buffer up to n as a line, and exits with status.
func (p *process) fail(n, status int) {
	if !p.print(n) {
		status = exitUnwritten
	}
	exit(status)
}

// reportFailure prints the failure, with the same text as package command, and exits with the same status. There is no
// hint, for which it would take the Go runtime.
func (p *process) reportFailure(o *options) {
	if failure.Wait != 0 {
		p.print(writeErrno(write(p.begin(), "waitpid failed"), failure.Wait))
		exit(exitNoStatus)
	}
	program := at(p.argv, o.command)
	if o.shell {
		program = p.userShell()
	}
	name := text(program)
	if isTerminal() {
		makePrintable(program, len(name))
	}
	n := write(p.begin(), "failed to execute ")
	n = write(n, name[:min(len(name), len(buffer)/2)])
	p.print(writeErrno(n, failure.Execute)) // the status is the same without it
	if failure.Execute == syscall.ENOMEM {
		exit(exitOSErr)
	}
	exit(exitUnavailable)
}

// begin writes the name of the program into buffer, and returns where it ends.
func (p *process) begin() int {
	name := text(at(p.argv, 0))
	for slash := index(name, '/'); slash < len(name); slash = index(name, '/') {
		name = name[slash+1:]
	}
	return write(write(0, name), ": ")
}

// write copies s into buffer from n on, as far as there is room, and returns where it ends.
func write(n int, s string) int {
	for i := 0; i < len(s) && n < len(buffer); i++ {
		buffer[n] = s[i]
		n++
	}
	return n
}

// writeErrno writes the text of an error behind a colon.
func writeErrno(n int, errno syscall.Errno) int {
	if errno >= unix.EHWPOISON || errno == 41 || errno == 58 { // these have no text, and Error would allocate
		return n
	}
	n = write(n, ": ")
	first := n
	n = write(n, errno.Error())
	if first < n && 'a' <= buffer[first] && buffer[first] <= 'z' {
		buffer[first] -= 'a' - 'A'
	}
	return n
}

// print prints buffer up to n as a line on standard error. It writes nothing if the lock file has that number: then
// standard error was closed.
func (p *process) print(n int) (ok bool) {
	if p.opened == 2 {
		return false
	}
	n = write(n, "\n")
	_, errno := call(syscall.SYS_WRITE, 2, address(unsafe.Pointer(&buffer)), uintptr(n), 0)
	return errno == 0
}

// isTerminal reports whether standard error is a terminal.
func isTerminal() bool {
	var size unix.Winsize
	_, errno := call(syscall.SYS_IOCTL, 2, syscall.TIOCGWINSZ, address(unsafe.Pointer(&size)), 0)
	return errno == 0
}

// makePrintable replaces all characters of a C string by "?" but those of ASCII that can be seen: a terminal obeys
// some of the others.
func makePrintable(s unsafe.Pointer, length int) {
	for i := range length {
		c := (*byte)(unsafe.Add(s, i))
		if *c < ' ' || *c > '~' {
			*c = '?'
		}
	}
}
