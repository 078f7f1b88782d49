package holders

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// The kernel's list does not name who waits for an open file description lock. It is one of those whose system call
// asks for just this.

// A waitingCall is a call of fcntl(F_OFD_SETLKW) that has not returned.
type waitingCall struct {
	process int
	write   bool
	start   int64
	end     string // as in a kernelLock
}

// waiter returns the process that waits for the lock, 0 if that is unknown. Its call then counts for no other lock.
func (l kernelLock) waiter(calls map[int]waitingCall) int {
	switch {
	case !l.waiting: // it has the turn, by a descriptor that may not be seen
		return 0
	case l.pid > 0:
		return l.pid
	}
	for thread, call := range calls {
		if call.write == l.write && call.start == l.start && call.end == l.end {
			delete(calls, thread)
			return call.process
		}
	}
	return 0
}

// waitingCalls returns, by thread, the calls of some processes that wait for a lock on the file. Only who may trace a
// process can see its calls.
func (f *lockedFile) waitingCalls(pids []int) map[int]waitingCall {
	calls := map[int]waitingCall{}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		threads, _ := proc.Numbers(dir + "/task")
		for _, thread := range threads {
			text, _ := proc.ReadSmall(dir + "/task/" + strconv.Itoa(thread) + "/syscall")
			var number, fd, command, address uint64
			fmt.Sscanf(string(text), "%d %v %v %v", &number, &fd, &command, &address)
			if number != sysFcntl || command != unix.F_OFD_SETLKW {
				continue
			}
			name := strconv.FormatUint(fd, 10)
			shown, _ := proc.ReadSmall(dir + "/fdinfo/" + name)
			if !f.isOpenAs(dir, name, shown) {
				continue
			}
			if call, ok := readCall(pid, address); ok {
				calls[thread] = call
			}
		}
	}
	return calls
}

// readCall reads the struct flock of a call from the memory of its process.
func readCall(pid int, address uint64) (call waitingCall, ok bool) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		return call, false
	}
	defer f.Close()
	var lock unix.Flock_t
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&lock)), unsafe.Sizeof(lock))
	if _, err := f.ReadAt(bytes, int64(address)); err != nil || lock.Whence != io.SeekStart {
		return call, false
	}
	call = waitingCall{process: pid, write: lock.Type == unix.F_WRLCK, start: lock.Start, end: "EOF"}
	if lock.Len > 0 {
		call.end = strconv.FormatInt(lock.Start+lock.Len-1, 10)
	}
	return call, true
}
