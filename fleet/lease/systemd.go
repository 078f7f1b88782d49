//go:build unix

package lease

import (
	"net"
	"os"
	"strconv"
	"time"
)

// A service tells systemd how this program is, by the protocol of sd_notify(3). The zero value tells nobody.
type service struct {
	conn  net.Conn
	ticks <-chan time.Time // when to say that a wait goes on; nil: never
}

// newService connects to systemd. The command does not inherit the variables: to systemd this program is the service.
func newService() *service {
	s := &service{}
	address, watchdog := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(name)
	}
	if address != "" {
		s.conn, _ = net.Dial("unixgram", address) // a name that begins with @ is an abstract one, as in systemd
	}
	if n, err := strconv.ParseInt(watchdog, 10, 64); err == nil && n > 1 && s.listens() {
		s.ticks = time.Tick(time.Duration(n) * time.Microsecond / 2)
	}
	return s
}

func (s *service) listens() bool { return s.conn != nil }

// say tells systemd assignments, one in each line. While it is frozen it takes no more, and the lock must be renewed.
func (s *service) say(assignments string) {
	if s.listens() {
		s.conn.SetWriteDeadline(time.Now().Add(time.Second / 10))
		s.conn.Write([]byte(assignments))
	}
}
