package guard

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// makeThreads has the runtime make all threads that it may need before the command starts: near a limit of processes,
// which the command may reach, it would end this process if it could not make one.
//
// The garbage collector needs threads. It is put off, in flock until the process has reached the memory limit that main
// sets. So what runs on and on from here must need no memory. Goroutines that wake up need threads, too. They wait in
// system calls of their own, main among them. When one has been in a call for long, or is interrupted because it has run
// for long, the runtime gives its processor to another thread, and another one each processor that is idle, to look for
// work (handoffp and wakep in its proc.go). Spare ones wait for that: one for each processor. When the command has ended,
// the goroutine that waits for signals then keeps one of them in flock.
func makeThreads() {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(processors)
	pair, err := sys.Socketpair()
	if err != nil {
		return
	}
	for range processors {
		go func() { // in a thread of its own
			b := []byte{0}
			unix.Write(pair[1], b)
			unix.Read(pair[1], b)
			unix.Write(pair[1], b)
		}()
	}
	readEach(pair[0])
	unix.Write(pair[0], make([]byte, processors))
	readEach(pair[0]) // nobody may read from a number that is another descriptor's soon
	unix.Close(pair[0])
	unix.Close(pair[1])
}

// processors is GOMAXPROCS. Main keeps one until the command is executed; another goroutine continues that meanwhile,
// should it be stopped.
const processors = 2

// readEach reads a byte of each spare thread.
func readEach(fd int) {
	for n, b := 0, make([]byte, processors); n < processors; {
		more, _ := unix.Read(fd, b[n:])
		n += max(more, 0)
	}
}
