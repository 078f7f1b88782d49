//go:build unix

package output

import (
	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// A besideWriter writes lines to standard error in a thread of its own, which exists when Beside has returned: a line
// that nobody reads keeps no other thread from its work.
type besideWriter struct{ socket int }

// Beside makes Note write in the background from now on, so that a slow reader does not delay this process. Warn, Fail
// and Status end that: they first wait until all lines are written. If it is not possible, Note writes as before.
func (p *Printer) Beside() {
	pair, err := sys.Socketpair()
	if err != nil {
		return
	}
	p.beside.Store(&besideWriter{pair[0]})
	runs := make(chan struct{})
	defer func() { <-runs }()
	go func() {
		ignoreStop()
		close(runs)
		for b := make([]byte, 4096); ; {
			n, _ := sys.Read(pair[1], b)
			if n <= 0 {
				unix.Close(pair[1])
				return
			}
			p.Err.Write(b[:n])
		}
	}()
}

// write hands a line over. It drops the line when very many wait.
func (w *besideWriter) write(line string) {
	unix.Send(w.socket, []byte(line), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// wait waits until all lines are written.
func (w *besideWriter) wait() {
	unix.Shutdown(w.socket, unix.SHUT_WR)
	sys.Read(w.socket, make([]byte, 1))
}
