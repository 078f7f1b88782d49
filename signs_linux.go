package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openFileSign returns the name in /proc of the first of these processes' descriptor number that is open on the file:
// as long as it is, hasClosed says no. If there is none, it reports whether hasClosed can see at all.
func openFileSign(pids []int, number int, file string) (name string, visible bool) {
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		name := dir + "/" + strconv.Itoa(number)
		var stat unix.Stat_t
		if unix.Stat(name, &stat) == nil && identity(&stat) == file {
			return name, true
		}
		if f, err := os.Open(dir); err == nil {
			f.Close()
			visible = true
		}
	}
	return "", visible
}
