package holders

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// The kernel's list does not name who waits for an open file description lock. It is one of those whose system call
// asks for just this.

// waitingCalls are calls of fcntl(F_OFD_SETLKW) that have not returned, each with its process.
type waitingCalls []shownLock

// waiter returns the process that waits for the lock, 0 if that is unknown. Its call then counts for no other lock.
func (calls waitingCalls) waiter(l proc.Lock) (pid int) {
	isFor := func(c shownLock) bool { return c.Write == l.Write && c.Start == l.Start && c.End == l.End }
	i := slices.IndexFunc(calls, isFor)
	switch {
	case !l.Waiting: // it has the turn, by a descriptor that may not be seen
		return 0
	case l.PID > 0:
		return l.PID
	case i >= 0:
		pid, calls[i] = calls[i].process, shownLock{}
	}
	return pid
}

// waitingCalls returns the calls of those who have the file open that wait for a lock on it. Only who may trace a
// process can see its calls.
func (f *lockedFile) waitingCalls() (calls waitingCalls) {
	for _, pid := range f.openers {
		dir := "/proc/" + strconv.Itoa(pid)
		threads, _ := proc.Numbers(dir + "/task")
		for _, thread := range threads {
			text, _ := proc.ReadSmall(dir + "/task/" + strconv.Itoa(thread) + "/syscall")
			var number, fd, command, address uint64
			fmt.Sscanf(string(text), "%d %v %v %v", &number, &fd, &command, &address)
			if number != sysFcntl || command != unix.F_OFD_SETLKW {
				continue
			}
			_, isOpen, _ := f.locksOf(dir, strconv.FormatUint(fd, 10))
			if l, ok := readCall(dir, address); ok && isOpen {
				calls = append(calls, shownLock{l, pid})
			}
		}
	}
	return calls
}

// readCall reads what a call asks for, its struct flock, from the memory of its process.
func readCall(dir string, address uint64) (l proc.Lock, ok bool) {
	f, err := os.Open(dir + "/mem")
	if err != nil {
		return l, false
	}
	defer f.Close()
	var asked unix.Flock_t
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&asked)), unsafe.Sizeof(asked))
	if _, err := f.ReadAt(bytes, int64(address)); err != nil || asked.Whence != io.SeekStart {
		return l, false
	}
	l = proc.Lock{Write: asked.Type == unix.F_WRLCK, Start: asked.Start, End: math.MaxInt64}
	if asked.Len > 0 {
		l.End = asked.Start + asked.Len - 1
	}
	return l, true
}
