//go:build linux && (amd64 || arm64)

package early

import "unsafe"

// A process is what the kernel gave the program. argv and environment are vectors.
type process struct {
	argc              int
	argv, environment unsafe.Pointer
	path, shell       int // index of PATH=... and SHELL=... in the environment; -1: none
	opened            int // the lock file, if this process has opened it; -1: it has not
}

// run is the whole program for most runs. If it returns, the Go runtime starts. stack points to argc.
func run(stack unsafe.Pointer) {
	p := process{argc: *(*int)(stack), argv: unsafe.Add(stack, 8), path: -1, shell: -1, opened: -1}
	p.environment = slot(p.argv, p.argc+1)
	var o options
	p.runPlain(&o)
	hasFailed := failure.Execute != 0 || failure.Wait != 0
	switch {
	case !hasFailed: // it has left no trace
		if limit := lack(leastAddressSpace, leastData); len(limit) > 0 {
			p.fail(write(write(p.begin(), "cannot start: "), limit), exitOSErr)
		}
	case mayLackMemory() || p.opened == 2:
		// What happened is told even if the Go runtime cannot start. And main would take the lock file for standard
		// error, which was closed.
		p.reportFailure(&o)
	}
}

// runPlain does a run that needs no Go runtime. If it returns, it has left no trace, or failure is set.
func (p *process) runPlain(o *options) {
	if p.argc < 2 || !o.parse(p.argc, p.argv) || !p.readEnvironment() {
		return
	}
	var deadline int64
	if o.hasTimeout {
		time, ok := now()
		if !ok {
			return
		}
		deadline = time + o.timeout
	}
	fd, ok := p.openLockFile(o)
	if !ok {
		return
	}
	if o.fd < 0 {
		p.opened = fd
	}
	if !lock(fd, o, deadline) {
		if p.opened >= 0 {
			closeFd(fd)
			p.opened = -1
		}
		return
	}
	if o.command == 0 {
		exit(0)
	}
	failure = p.execute(fd, o)
}

// readEnvironment finds PATH and SHELL. It returns false if the Go runtime is needed: because FLOCK_BACKEND is set, or
// because the program has more privileges than its caller, as a set-user-id program has.
func (p *process) readEnvironment() bool {
	i := 0
	for ; at(p.environment, i) != nil; i++ {
		entry := at(p.environment, i)
		// Only the first entry of a name counts, as for getenv(3).
		switch *(*byte)(entry) {
		case 'P':
			if p.path < 0 && hasPrefix(text(entry), "PATH=") {
				p.path = i
			}
		case 'S':
			if p.shell < 0 && hasPrefix(text(entry), "SHELL=") {
				p.shell = i
			}
		case 'F':
			if hasPrefix(text(entry), "FLOCK_BACKEND=") {
				return false
			}
		}
	}
	// The auxiliary vector: pairs of a type and a value.
	const atNull, atSecure = 0, 23
	for pair := slot(p.environment, i+1); ; pair = unsafe.Add(pair, 16) {
		switch *(*uintptr)(pair) {
		case atNull:
			return true
		case atSecure:
			if *(*uintptr)(unsafe.Add(pair, 8)) != 0 {
				return false
			}
		}
	}
}
