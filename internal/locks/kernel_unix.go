//go:build unix

package locks

import (
	"syscall"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/sys"
)

// HasKernelLocks says that the kernel has locks of whole files. A filesystem can still answer that it has none.
const HasKernelLocks = true

// coversBytes reports whether a lock of flock(2) covers the bytes of an open file description lock, even where it is
// shared; and even, on macOS, if both are locks of the same open file.
const coversBytes = system == "darwin" || system == "illumos"

// kernelMechanisms returns those that are locks of the kernel.
func kernelMechanisms(f *lockfile.File, config Config) (all []Mechanism) {
	if config.Permits > 0 && (config.Flock || config.Fcntl) {
		return []Mechanism{&permit{file: f, count: config.Permits, withFlock: config.Flock && !coversBytes}}
	}
	bytes := &byteLock{file: f, config: config}
	if config.Flock {
		bytes.instead = &flock{file: f}
		all = append(all, bytes.instead)
	}
	if config.Fcntl {
		all = append(all, bytes)
	}
	return all
}

// directoryMechanism returns the directory lock, or with isHalf that of halfPermit: for permits, if there can be plain
// locks of the kernel.
func directoryMechanism(h *hold, isHalf bool) Mechanism {
	d := &directory{hold: h}
	if isHalf {
		return halfPermit{d}
	}
	return d
}

// A flock is the lock of flock(2).
type flock struct {
	file   *lockfile.File
	answer error // of the last call
}

func (m *flock) Lock(op Op, timeout Timeout) error {
	if coversBytes && !m.file.ByName {
		setBytes(m.file.FD, Unlock, Permits) // it would wait for its own permit
	}
	call := flockCall
	if _, ends := timeout.Deadline(); ends && op == Exclusive {
		call = flockWithoutShared()
	}
	m.answer = callReopening(m.file, call, op, timeout)
	return m.explain()
}

// flockWithoutShared returns flockCall for one wait that ends, in which it may be called again and again. Before the
// second call it gives up a shared lock of the open file, as the kernel does in a call that waits. In one that does not
// wait macOS and the BSDs keep it: two processes that both have a shared lock would wait for each other.
func flockWithoutShared() call {
	isFirst := true
	return func(fd int, op Op, wait bool) error {
		if !isFirst {
			flockCall(fd, Unlock, false)
		}
		isFirst = false
		return flockCall(fd, op, wait)
	}
}

func (m *flock) Unlock() error {
	m.answer = callWithin(Forever, flockCall, m.file.FD, Unlock)
	return m.explain()
}

func (m *flock) Kind() Kind { return ByFlock }

func (m *flock) explain() error {
	if isUnsupported(m.answer) {
		return &Unsupported{lockingError(m.file, m.answer)}
	}
	return flockError(m.file, m.answer)
}

// A byteLock is an open file description lock of fcntl(2) on a range of bytes.
type byteLock struct {
	file    *lockfile.File
	config  Config
	instead *flock // it serves only where there is no flock(2), whose answer this has; nil: the user wants it
	isTold  bool   // --verbose has named it, which serves instead
}

func (m *byteLock) Lock(op Op, timeout Timeout) error {
	err := m.explain(callReopening(m.file, bytesCall(m.config.Range), op, timeout))
	if failed, ok := err.(*failure.Error); ok && failed.Hint == "" {
		failed.Hint = m.accessHint(op, failed.Cause)
	}
	return err
}

// accessHint is the hint for a file that is not open for what the lock needs, or cannot be; "" if that is not why it is
// refused.
func (m *byteLock) accessHint(op Op, cause error) string {
	kind, access, redirection := "an exclusive", "writing", ">>FILE"
	if op == Shared {
		kind, access, redirection = "a shared", "reading", "<FILE"
	}
	switch {
	case m.file.ByName && sys.Is(cause, syscall.EISDIR):
		return "an exclusive lock of fcntl(2) needs a file: lock one in the directory, or take a shared lock"
	case !m.file.ByName && sys.BadDescriptor(cause):
		return kind + " lock of fcntl(2) needs a descriptor that is open for " + access + ": " + m.file.Name + redirection
	}
	return ""
}

func (m *byteLock) Unlock() error {
	return m.explain(callWithin(Forever, bytesCall(m.config.Range), m.file.FD, Unlock))
}

func (m *byteLock) Kind() Kind { return ByFcntl }

func (m *byteLock) explain(answer error) error {
	err := lockingError(m.file, answer)
	switch {
	case isUnsupportedForBytes(answer):
		return &Unsupported{err}
	case m.instead == nil:
	case m.config.Queue > 0:
		setBytes(m.file.FD, Unlock, m.config.Range) // it covers the bytes that stand for places
		return queueError(m.file.Name, m.instead.answer)
	case err != nil && m.file.IsDirectory():
		// It cannot be opened for writing, which an exclusive lock needs. The next mechanism does not serve instead:
		// whoever asks for a shared lock gets it by this one.
		return flockError(m.file, m.instead.answer)
	case !m.isTold:
		m.isTold = true
		m.config.WarnVerbose("using fcntl(2) locks")
	}
	return err
}

// callReopening makes a lock call. If that may help, it makes the call again with the file open for writing.
func callReopening(f *lockfile.File, call call, op Op, timeout Timeout) error {
	answer := answerWithin(timeout, call, f.FD, op)
	if op == Exclusive && f.CanReopen() && needsWriting(answer) {
		if err := f.CheckWritable(); err != nil {
			return FileError(f, err)
		}
		if err := f.ReopenForWriting(); err != nil {
			return failure.Opening(f.Name, err)
		}
		answer = answerWithin(timeout, call, f.FD, op)
	}
	if answer == syscall.EACCES && f.Network() != lockfile.SMB { // there it is a conflict
		return &Refusal{Err: timeout.Conflict(), Why: Denial, Denied: true}
	}
	return toConflict(answer, timeout)
}

// lockingError adds to the bare answer of a lock call which file it is about. Other errors say that themselves.
func lockingError(f *lockfile.File, err error) error {
	if answer, ok := err.(syscall.Errno); ok {
		return FileError(f, answer)
	}
	return err
}

// flockError is lockingError for flock(2), which on NFS is a lock of bytes, on Linux and with NFSv4 of FreeBSD.
func flockError(f *lockfile.File, err error) error {
	isOnNFS := func() bool { return f.Network() == lockfile.NFS || system == "freebsd" && f.IsOpen() } // see flockCall
	if !needsWriting(err) || f.ByName || !isOnNFS() {
		return lockingError(f, err)
	}
	failed := FileError(f, err)
	failed.Hint = "on NFS the descriptor must be open for writing, for a shared lock for reading: " +
		"use a separate lock file, as 9>>FILE or 9<>FILE"
	return failed
}
