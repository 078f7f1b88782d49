//go:build !guard_goroutine

package guard

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStoppedMeanwhile moves the limits of a guard that is stopped: when it goes on, only the last ones count.
func TestStoppedMeanwhile(t *testing.T) {
	g, dir := start(t, `>$0/ready; while ! [ -e $0/end ]; do sleep .01; done`)
	g.Give(Message{Kind: Run, Limits: farAway, Token: 0})
	await(t, dir+"/ready")
	unix.Kill(g.pid, unix.SIGSTOP)
	if err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WSTOPPED, nil); err != nil {
		t.Fatal(err)
	}
	g.Give(Message{Kind: Move, Limits: Limits{Now(), farAway.Kill, farAway.End}})
	g.Give(Message{Kind: Move, Limits: farAway})
	unix.Kill(g.pid, unix.SIGCONT)
	if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := last(t, g); r.Number != 0 || r.Terminated {
		t.Errorf("%+v", r)
	}
}
