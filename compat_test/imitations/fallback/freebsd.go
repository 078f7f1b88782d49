//go:build ignore

package fallback

import "golang.org/x/sys/unix"

// This is what FreeBSD 12.2 tells. A machine tells its hardware, and no boot. poll(2) tells a writer of a FIFO that its
// last reader has gone if it asks afterwards, but does not wake one that sleeps by then.
func init() { poll = imitateSleeper }

func askMachine() machine { return imitateMachine() }

func imitateMachine() machine { return machine{id: "hardware", pidNS: onlyNamespace} }

func imitateSleeper(fds []unix.PollFd, milliseconds int) (n int, err error) {
	if n, err = unix.Poll(fds, 0); n != 0 || err != nil {
		return n, err
	}
	for n < len(fds) && fds[n].Events != 0 {
		n++
	}
	return unix.Poll(fds[:n], milliseconds)
}
