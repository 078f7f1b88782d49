//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const manyDescriptors = 20000

// measureDirectory times what makes a run with the directory lock slower than usual.
func measureDirectory(all []locker) {
	l := all[slices.IndexFunc(all, func(l locker) bool { return l.name == directory })]
	const rounds = 15
	file, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	check(err)
	defer file.Close()
	measure := func(words []string, before func()) float64 {
		var times []time.Duration
		for range rounds {
			before()
			time.Sleep(5 * time.Millisecond) // until the process before has quite ended
			times = append(times, timeRun(words, l.environ(), file))
		}
		return micros(median(times))
	}
	kill := func() {
		words := append(slices.Clone(l.noFork), "/bin/sleep", "60")
		pid, err := syscall.ForkExec(words[0], words, &syscall.ProcAttr{Env: l.environ(), Files: []uintptr{0, 1, 2}})
		check(err)
		time.Sleep(700 * time.Millisecond) // for as long, only processes that are younger are looked at
		check(syscall.Kill(pid, syscall.SIGKILL))
		_, err = syscall.Wait4(pid, nil, 0, nil)
		check(err)
	}
	run := append(slices.Clone(l.run), "./true")
	again := func() { timeRun(l.number, l.environ(), file) }
	release := func() { timeRun(append(slices.Clone(l.number[:1]), "-u", "9"), l.environ(), file) }

	fmt.Print("\n| the directory lock, whole process | median, µs |\n|---|---:|\n")
	row := func(name string, words []string, before func()) {
		fmt.Printf("| %s | %.0f |\n", name, measure(words, before))
	}
	row("with a command", run, func() {})
	row("the first run in a new directory", run, func() { check(os.RemoveAll(".lock.flock")) })
	row("a number that is locked already", l.number, again)
	release()
	processes, _ := os.ReadDir("/proc")
	row(fmt.Sprintf("after a holder was killed, beside some %d processes", len(processes)/10*10), run, kill)
	const each = 400 // less than the usual limit
	for range manyDescriptors / each {
		files := slices.Repeat([]uintptr{file.Fd()}, each)
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "600"}, &syscall.ProcAttr{Files: files})
		check(err)
		defer syscall.Wait4(pid, nil, 0, nil)
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	row(fmt.Sprintf("the same, with %d open descriptors", manyDescriptors), run, kill)
	forbidKcmp()
	row("a number that is locked already, without kcmp(2)", l.number, again)
	release()
}

// forbidKcmp forbids this process, and what it starts, kcmp(2), as container runtimes do.
func forbidKcmp() {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_KCMP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	check(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		check(errno)
	}
}
