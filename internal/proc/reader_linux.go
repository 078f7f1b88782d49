package proc

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Reader reads files of /proc again and again. When its buffers are large enough it needs no more memory.
type Reader struct{ path, text, list []byte }

// Self stands for this process. Where /proc is that of another pid namespace, it finds no process, and not a wrong one.
const Self = 0

// open opens /proc/PID/task or, with a thread, a file of that.
func (r *Reader) open(pid, thread int, name string, flags int) (fd int, err error) {
	r.path = append(r.path[:0], "/proc/"...)
	if pid == Self {
		r.path = append(r.path, "self"...)
	} else {
		r.path = strconv.AppendInt(r.path, int64(pid), 10)
	}
	r.path = append(r.path, "/task"...)
	if thread > 0 {
		r.path = strconv.AppendInt(append(r.path, '/'), int64(thread), 10)
		r.path = append(append(r.path, '/'), name...)
	}
	r.path = append(r.path, 0)
	at := unix.AT_FDCWD // package unix takes a string, which would need memory
	n, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&r.path[0])),
		uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// read reads all of a file of a thread. The text is valid until the next call.
func (r *Reader) read(pid, thread int, name string) (text []byte, err error) {
	fd, err := r.open(pid, thread, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if r.text == nil {
		r.text = make([]byte, 4096)
	}
	for length := 0; ; {
		if length == len(r.text) {
			r.text = append(r.text, make([]byte, length)...)
		}
		n, err := unix.Read(fd, r.text[length:])
		switch {
		case err == unix.EINTR:
		case n <= 0:
			return r.text[:length], err
		default:
			length += n
		}
	}
}

// Stat is what is read from proc_pid_stat(5).
type Stat struct {
	State          byte   // field 3
	Parent         int    // field 4
	IsKernelThread bool   // PF_KTHREAD in field 9
	Threads        int    // field 20
	Start          uint64 // field 22, in clock ticks since boot
}

// IsDead reports whether the process has ended, with all its threads, and waits for its parent. If only the first
// thread has ended, its state is the same, but there are other threads. If one of those calls execve(2) it becomes the
// first one. A stat that is read at that moment shows the former one: dead, and with 0 threads.
func (s Stat) IsDead() bool { return s.Threads == 1 && (s.State == 'Z' || s.State == 'X') }

// Stat reads the stat file of the first thread, which says the same as that of the process: qemu-user makes up
// /proc/PID/stat of its own process with another start time.
func (r *Reader) Stat(pid int) (s Stat, err error) {
	const kernelThread = 0x00200000 // PF_KTHREAD, include/linux/sched.h
	text, err := r.read(pid, pid, "stat")
	if err != nil {
		return s, err
	}
	fields, ok := statFields(text)
	if !ok {
		return s, unix.EBADMSG
	}
	return Stat{
		State:          fields[3][0],
		Parent:         int(parse(fields[4])),
		IsKernelThread: parse(fields[9])&kernelThread != 0,
		Threads:        int(parse(fields[20])),
		Start:          parse(fields[22]),
	}, nil
}

// statFields returns the fields of proc_pid_stat(5) up to the 22nd by their numbers, but for the first two.
func statFields(text []byte) (fields [23][]byte, ok bool) {
	// The second field is the command in parentheses, and can contain any byte.
	rest := text[bytes.LastIndexByte(text, ')')+1:]
	for n := 3; n < len(fields); n++ {
		rest = bytes.TrimLeft(rest, " ")
		if fields[n], rest, ok = bytes.Cut(rest, []byte(" ")); !ok {
			return fields, false
		}
	}
	return fields, true
}

// parse returns the number that the digits are at the start of the text.
func parse(text []byte) (n uint64) {
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			break
		}
		n = 10*n + uint64(digit-'0')
	}
	return n
}

// ChildrenOf appends the children of a thread of a process to a list. It needs one descriptor.
func (r *Reader) ChildrenOf(list []int, pid, thread int) ([]int, error) {
	text, err := r.read(pid, thread, "children")
	for len(text) > 0 {
		word, rest, _ := bytes.Cut(text, []byte(" "))
		if child := int(parse(word)); child > 0 {
			list = append(list, child)
		}
		text = rest
	}
	return list, err
}

// Children appends the children of a process to a list, as far as they can be seen. threads is how many
// threads it has, 0 if that is unknown.
func (r *Reader) Children(list []int, pid, threads int) []int {
	if threads == 1 { // and it is the first one
		list, err := r.ChildrenOf(list, pid, pid)
		if err == nil {
			return list
		}
	}
	fd, err := r.open(pid, 0, "", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return list
	}
	defer unix.Close(fd)
	if r.list == nil {
		r.list = make([]byte, 4096)
	}
	for {
		n, err := unix.ReadDirent(fd, r.list)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return list
		}
		const lengthAt, nameAt = 16, 19 // of struct linux_dirent64
		for at := 0; at < n; at += int(binary.NativeEndian.Uint16(r.list[at+lengthAt:])) {
			if thread := int(parse(r.list[at+nameAt : n])); thread > 0 {
				list, _ = r.ChildrenOf(list, pid, thread)
			}
		}
	}
}
