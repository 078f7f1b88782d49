package proc

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/sys"
)

// Numbers returns the names in a directory of /proc that are numbers, in ascending order.
func Numbers(dir string) (list []int, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	names, err := sys.Names(fd)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// Processes returns the ids of all processes, in ascending order. A /proc without this one is an error.
func Processes() (pids []int, err error) {
	pids, err = Numbers("/proc")
	if err == nil && !slices.Contains(pids, os.Getpid()) {
		err = &fs.PathError{Op: "readlink", Path: "/proc/self", Err: unix.ENOENT}
	}
	return pids, err
}

// Tick is that of the clock of Stat: sysconf(_SC_CLK_TCK) is 100 on every Linux.
const Tick = 10 * time.Millisecond

// Age returns how long ago a process was started, 0 if that is unknown.
func Age(pid int) time.Duration {
	stat, err := ReadStat(pid)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(stat.Start)*Tick
}
