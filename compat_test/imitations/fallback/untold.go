//go:build ignore

package fallback

import "golang.org/x/sys/unix"

// This is poll(2) of macOS, NetBSD, OpenBSD, DragonFly and illumos, which does not tell a writer of a FIFO that its last
// reader is gone.
func init() { poll = imitatePoll }

func imitatePoll(fds []unix.PollFd, milliseconds int) (n int, err error) {
	for n < len(fds) && fds[n].Events != 0 {
		n++
	}
	return unix.Poll(fds[:n], milliseconds)
}
