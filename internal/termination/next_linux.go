//go:build flock_linkname && (amd64 || arm64)

package termination

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/cstart"
)

// A source of signals is their descriptor itself: package cstart has a handler write there who has sent a signal. No
// goroutine and no new thread has to do with that.
type source struct{ told [cstart.Told]byte }

// Listen catches the signals of a list, of which none ends this process any more. It is for one list in a process.
func Listen(list []syscall.Signal) (*Signals, error) {
	read, write, err := pipe()
	if err != nil {
		return nil, err
	}
	for _, sig := range list {
		cstart.Tell(sig, write)
	}
	return &Signals{FD: read}, nil
}

func (s *Signals) openFD([]syscall.Signal) error { return nil } // it is there

// Next returns a signal that has come, and whether it came from the terminal, to all of the process group; 0: there is
// none.
func (s *Signals) Next() (sig syscall.Signal, fromTerminal bool) {
	if n, _ := unix.Read(s.FD, s.told[:]); n < len(s.told) {
		return 0, false
	}
	const byKernel = 0x80 // SI_KERNEL
	sig = syscall.Signal(binary.NativeEndian.Uint32(s.told[:]))
	code := binary.NativeEndian.Uint32(s.told[8:])
	return sig, IsOfTerminals(sig) && code == byKernel
}
