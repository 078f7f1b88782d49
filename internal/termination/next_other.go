//go:build unix && !(linux && flock_linkname && (amd64 || arm64))

package termination

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A source of signals is a channel of package signal. A byte in the descriptor of Catch says that there may be one.
type source struct{ channel <-chan os.Signal }

// Listen catches the signals of a list, of which none ends this process any more. A guard, which uses it, has no
// descriptors to spare.
func Listen(list []syscall.Signal) (*Signals, error) {
	return &Signals{FD: -1, source: source{notify(list)}}, nil
}

// openFD has a byte written to a descriptor for each signal.
func (s *Signals) openFD(list []syscall.Signal) error {
	read, writer, err := pipe()
	if err != nil {
		return err
	}
	s.FD = read
	look := make(chan os.Signal, 8)
	for _, sig := range list {
		signal.Notify(look, sig)
	}
	go func() {
		for range look {
			unix.Write(writer, []byte{0})
		}
	}()
	return nil
}

// Next returns a signal that has come, and whether it came from the terminal, to all of the process group; 0: there is
// none. Nothing tells who has sent a signal: the terminal is presumed to have sent those that it can send.
func (s *Signals) Next() (sig syscall.Signal, fromTerminal bool) {
	var b [8]byte
	for n := 1; n > 0; {
		n, _ = unix.Read(s.FD, b[:])
	}
	flush()
	select {
	case sig := <-s.channel:
		return sig.(syscall.Signal), IsOfTerminals(sig)
	default:
		return 0, false
	}
}
