//go:build ignore

package locks

// This is flock(2) of the BSDs. There are no open file description locks.
const system = "freebsd"

var systemFlock = imitateBSDFlock

func imitateBSDFlock(fd, how int) error {
	return imitateFlock(fd, how, func(int) bool { return false })
}
