//go:build unix && flock_linkname

package cstart

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// islibrary says that this is a C shared library. It is set at link time, as runtime/cgo sets runtime.iscgo. In a
// library the runtime
//
//   - installs no signal handlers: the command gets every disposition as flock got it,
//   - so a signal kills flock as it kills a C program,
//   - opens no /dev/null in the place of closed standard descriptors,
//   - leaves most signals blocked that were blocked, in every thread; RestoreMask blocks the others again,
//   - does not call main.main: an initializer of package main does (IsLibrary).
//
// It stays set while the program runs: a thread that starts after it was cleared would unblock the signals.
//
//go:linkname islibrary runtime.islibrary
var islibrary = true

// IsLibrary says that the runtime does not call main.main.
const IsLibrary = true

// pollServerOnce is a sync.Once that is done already. Otherwise a standard descriptor in non-blocking mode makes
// package os open an epoll or kqueue descriptor, and the lock file does not get the lowest free number.
//
//go:linkname pollServerOnce internal/poll.serverInit
var pollServerOnce = struct {
	done  uint32
	mutex struct{ state, sema uint32 }
}{done: 1}

// changed is the environment that Setenv and Unsetenv have made; nil: they have changed nothing.
var changed []string

// Environ returns the environment for programs that this process starts.
func Environ() []string {
	if changed != nil {
		return changed
	}
	return original()
}

// Setenv sets a variable in Environ.
func Setenv(name, value string) {
	Unsetenv(name)
	changed = append(changed, name+"="+value)
}

// Unsetenv removes a variable from Environ: all its entries, because some programs take the first and some the last.
func Unsetenv(name string) {
	changed = slices.DeleteFunc(slices.Clone(Environ()), func(entry string) bool {
		return strings.HasPrefix(entry, name+"=")
	})
}

// original returns the environment as the kernel laid it behind the arguments. syscall.Environ drops duplicates, and
// the runtime sets GOTRACEBACK where the effective user is not the caller.
var original = sync.OnceValue(func() (env []string) {
	for at := int(argc + 1); ; at++ {
		entry := *(**byte)(unsafe.Add(unsafe.Pointer(argv), at*int(unsafe.Sizeof(argv))))
		if entry == nil {
			return trusted(env)
		}
		env = append(env, unix.BytePtrToString(entry))
	}
})

//go:linkname argc runtime.argc
var argc int32

//go:linkname argv runtime.argv
var argv **byte

// DefaultAction sets the disposition of a signal to SIG_DFL.
func DefaultAction(sig syscall.Signal) { setsig(uint32(sig), 0) }

//go:linkname setsig runtime.setsig
func setsig(sig uint32, handler uintptr)

// CatchAlarm keeps a SIGALRM from ending the wait. The command gets the default action, as with util-linux.
func CatchAlarm() {
	// The runtime's own handler does nothing if the runtime believes that it has set it, and os/signal.Notify is not
	// used. Otherwise it would end the process.
	setHandled(syscall.SIGALRM)
	function := sighandler // a pointer to a pointer to the code
	setsig(uint32(syscall.SIGALRM), **(**uintptr)(unsafe.Pointer(&function)))
}

//go:linkname sighandler runtime.sighandler
func sighandler(sig uint32, info, context, gp unsafe.Pointer)

// setHandled has the runtime believe that it has set a handler for a signal.
func setHandled(sig syscall.Signal) { (*[32]uint32)(unsafe.Pointer(&handlingSig))[sig] = 1 }

// handlingSig has one element for each signal. The runtime's definition is longer, so the linker takes that one.
//
//go:linkname handlingSig runtime.handlingSig
var handlingSig [1]uint32

// Ignored reports whether a signal is ignored. (signal.Ignored does not know what was so from the start.)
func Ignored(sig syscall.Signal) bool { return getsig(uint32(sig)) == 1 } // SIG_IGN

// Kills reports whether a signal would kill this process: it is neither ignored nor blocked.
func Kills(sig syscall.Signal) bool { return !Ignored(sig) && !isBlocked(sig) }

//go:linkname getsig runtime.getsig
func getsig(sig uint32) uintptr

// RestoreMask blocks the signals that were blocked when flock was started. The runtime unblocks SIGSEGV, SIGURG and
// some others.
func RestoreMask() { sigprocmask(setMask, unsafe.Pointer(&initSigmask), nil) }

//go:linkname sigprocmask runtime.sigprocmask
func sigprocmask(how int32, new, old unsafe.Pointer)

// isBlocked reports whether one of the first 32 signals was blocked when flock was started.
func isBlocked(sig syscall.Signal) bool { return initSigmask[0]>>(sig-1)&1 != 0 }

// initSigmask is longer in the runtime, on most systems: see handlingSig.
//
//go:linkname initSigmask runtime.initSigmask
var initSigmask [1]uint32
