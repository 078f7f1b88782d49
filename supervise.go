//go:build !windows

package main

import (
	"strconv"
	"syscall"
	"time"

	"example.org/flock/fallback"
)

// needsSupervisor reports whether the directory lock is to be taken by a
// second flock, which becomes the command.
func needsSupervisor(o *options) bool {
	return len(o.command) > 0 && !o.closeFd && !o.noFork && o.op != unlock
}

// supervisorOf returns the process that waits for the command; 0 if none does.
func supervisorOf(o *options) int { return o.supervisor }

// supervise starts flock once more, to take the lock and become the command,
// waits for it, and frees the lock. It returns the exit status.
func supervise(p *printer, f *lockFile, o *options, args []string) int {
	if f.named {
		f.makeWay()
	}
	if o.limited {
		outlastAlarm()
	}
	supervisor := supervisorOption + strconv.Itoa(syscall.Getpid()) + "+" + strconv.Itoa(syscall.Getppid())
	if o.limited { // some of the time may be over
		supervisor += "+" + strconv.FormatInt(time.Until(o.deadline).Nanoseconds(), 10)
	}
	pid, err := startSelf(append([]string{args[0], supervisor}, args[1:]...))
	if err != nil {
		return fail(p, err)
	}
	l, failed := openDirectoryLock(f, o) // while the other starts
	code, err := await(pid)
	if err != nil {
		return fail(p, err)
	}
	if failed != nil {
		return code // the other has told why
	}
	if o.cooldown > 0 && hadLock(l, pid) {
		if err := f.startCooldown(o); err != nil {
			fail(p, err) // that of the beginning still stands
		}
	}
	l.Kept = func(o fallback.Owner) bool { // not by us any more
		t := tagOf(o)
		return t.keeper.PID != syscall.Getpid() && t.kept()
	}
	l.Sweep(pid) // if that fails, the next contender does it
	return code
}
