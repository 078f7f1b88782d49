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
// system calls of their own, main among them; there are fewer of them than processors, so none waits for another. When
// the last one has been in a call for ten milliseconds, the runtime gives its processor to another thread, to look for
// work there (handoffp in its proc.go). A spare one waits for that. A second one is for the goroutine that waits for
// signals when the command has ended, and for when the first one is on its way to its wait.
func makeThreads() {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(processors)
	pair, err := sys.Socketpair()
	if err != nil {
		return
	}
	for range spare {
		go func() { // in a thread of its own
			b := []byte{0}
			unix.Write(pair[1], b)
			unix.Read(pair[1], b)
			unix.Write(pair[1], b)
		}()
	}
	readEach(pair[0])
	unix.Write(pair[0], make([]byte, spare))
	readEach(pair[0]) // nobody may read from a number that is another descriptor's soon
	unix.Close(pair[0])
	unix.Close(pair[1])
}

// processors is GOMAXPROCS. It is not smaller, or those who wake up at once would wait for each other, and the runtime
// would look for help.
const processors = 4

const spare = 2

// readEach reads a byte of each spare thread.
func readEach(fd int) {
	for n, b := 0, make([]byte, spare); n < spare; {
		more, _ := unix.Read(fd, b[n:])
		n += max(more, 0)
	}
}
