//go:build linux

package test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// What an operator sees, and what a container, a terminal, systemd and a balancer do to flock-etcd.

// readable copies a program to where every user may run it.
func readable(t *testing.T, program, dir string, mode os.FileMode) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(program))
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestHiddenProcesses has a command that becomes root, where /proc hides the processes of others. The lock is not
// released while it runs.
func TestHiddenProcesses(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount /proc, and make a program that becomes root")
	}
	dir, err := os.MkdirTemp("/tmp", "hidden")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	name := leasetest.LockName(t)
	h := ours(t, "FLOCK_ETCD_TTL=60").Start(t, "unshare", "-m", "sh", "-c",
		`mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`, "sh",
		readable(t, flockEtcd, dir, 0o755), name, readable(t, section, dir, 0o755|os.ModeSetuid), "root")
	h.AwaitOutput(t)
	if _, err := sharedCluster(t).Client().Delete(t.Context(), awaitLine(t, sharedCluster(t), name, 1)[0]); err != nil {
		t.Fatal(err)
	}
	h.AwaitEnd(t)
	pid := strings.TrimSpace(h.Out.String())
	h.Check(t, 75, h.Out.String(), fmt.Sprintf("flock-etcd: lost the lock %s: etcd has dropped its key or its lease; "+
		"process %s of the command cannot be killed and goes on\n", name, pid))
	if !strings.Contains(leasetest.Read("/proc/"+pid+"/cmdline"), "root") {
		t.Error("it has ended")
	}
	exec.Command("kill", "-9", pid).Run()
}

// TestGuardOfWaiter kills the guard of one who waits. It does not wait for nothing.
func TestGuardOfWaiter(t *testing.T) {
	t.Parallel()
	name, e := leasetest.LockName(t), ours(t)
	h := e.Hold(t, flockEtcd, name)
	w := e.Queue(t, flockEtcd, name)
	awaitLine(t, sharedCluster(t), name, 2)
	kill(leasetest.GuardOf(t, w.Process.Pid), syscall.SIGKILL)
	w.AwaitEnd(t).Check(t, 75, "", "flock-etcd: cannot wait any longer for the lock "+name+": its guard was killed\n")
	awaitLine(t, sharedCluster(t), name, 1)
	h.Release(t)
}

// TestKeyGoneAtEnd has the key deleted while the holder cannot know, and then the command ends. Its status does not
// count.
func TestKeyGoneAtEnd(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-x", "--cooldown=5"} {
		n, name := networkTo(t, sharedCluster(t)), leasetest.LockName(t)+option
		h := reach(n.Endpoints(), "FLOCK_ETCD_TTL=60").Hold(t, flockEtcd, option, name)
		n.BlackHole()
		key := awaitLine(t, sharedCluster(t), name, 1)[0]
		if _, err := sharedCluster(t).Client().Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		h.Input.Close()
		leasetest.Await(t, "the end of the guard", func() bool { return len(leasetest.Children(h.Process.Pid)) == 0 })
		n.Restore()
		h.AwaitEnd(t)
		h.Check(t, 75, h.Out.String(), "flock-etcd: lost the lock "+name+
			": etcd has dropped its key or its lease while the command ran; the command has ended\n")
	}
}

// TestBehindBalancer has one address for three members. The one that the holder is connected to is frozen.
func TestBehindBalancer(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, clusterOptions)
	leader, err := c.Leader()
	if err != nil {
		t.Fatal(err)
	}
	var order []*cluster.Member // the first connection is to one that is not the leader
	for _, m := range c.Members {
		if m != leader {
			order = append(order, m)
		}
	}
	p, err := cluster.NewProxy(append(order, leader)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	h := reach(p.Endpoint, "FLOCK_ETCD_TTL=6").Hold(t, flockEtcd, "name")
	order[0].Freeze()
	t.Cleanup(order[0].Thaw)
	time.Sleep(12 * time.Second) // this time must pass without an event
	h.Release(t)
	if h.Err.String() != "" {
		t.Error(&h.Err)
	}
}

// TestBehindRandomBalancer has one address for three members, of which any answers a connection. One of them is frozen,
// and a third of the holders are connected to that; so is a third of the connections that they make then.
func TestBehindRandomBalancer(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, clusterOptions)
	leader, err := c.Leader()
	if err != nil {
		t.Fatal(err)
	}
	p, err := cluster.NewRandomProxy(c.Members...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	var frozen *cluster.Member
	for _, m := range c.Members {
		if m != leader {
			frozen = m
		}
	}
	t.Cleanup(frozen.Thaw)
	for attempt := 1; ; attempt++ {
		began := time.Now()
		lost := loseBehind(t, p, frozen, fmt.Sprint("name", attempt))
		if lost == 0 {
			break
		}
		t.Logf("%d holders have lost their locks; this machine was late by %v", lost, worstDelay(began))
		if worstDelay(began) < time.Second || attempt == 3 { // else it may have lost them by itself
			t.Fatal("holders have lost their locks")
		}
	}
}

// loseBehind has many hold locks behind a balancer when a member is frozen, for longer than the TTL, and returns how
// many have lost theirs.
func loseBehind(t *testing.T, p *cluster.Proxy, frozen *cluster.Member, name string) (lost int) {
	t.Helper()
	e := reach(p.Endpoint, "ETCDCTL_DIAL_TIMEOUT=1m")
	var all []*leasetest.Holding
	for i := range howMany(t, 30) {
		all = append(all, e.Queue(t, flockEtcd, fmt.Sprint(name, "-", i)))
	}
	for _, h := range all {
		h.AwaitOutput(t)
	}
	frozen.Freeze()
	time.Sleep(12 * time.Second) // this time must pass without an event
	for _, h := range all {
		if h.HasEnded() {
			t.Logf("%d %s", h.Status, &h.Err)
			lost++
		}
	}
	frozen.Thaw()
	for _, h := range all {
		h.Input.Close()
		h.AwaitEnd(t)
	}
	return lost
}

// TestSilence has etcd silent for a while, which is told before it costs the command its life.
func TestSilence(t *testing.T) {
	t.Parallel()
	var networks []cluster.Network
	for range 2 {
		networks = append(networks, networkTo(t, sharedCluster(t)))
	}
	name := leasetest.LockName(t)
	h := reach(networks[0].Endpoints()).Hold(t, flockEtcd, name)
	w := reach(networks[1].Endpoints()).Queue(t, flockEtcd, name)
	awaitLine(t, sharedCluster(t), name, 2)
	networks[1].Cut()
	networks[0].BlackHole()
	leasetest.Await(t, "a warning",
		func() bool {
			return strings.Contains(h.Err.String(), "flock-etcd: etcd has not renewed the lock "+name+" for ")
		})
	networks[0].Restore()
	leasetest.Await(t, "the end of the silence",
		func() bool {
			return strings.HasSuffix(h.Err.String(), "\nflock-etcd: etcd has renewed the lock "+name+"\n")
		})
	if !strings.Contains(h.Err.String(), " s; the command is terminated in ") {
		t.Error(&h.Err)
	}
	leasetest.Await(t, "a word of the waiter",
		func() bool {
			return strings.HasPrefix(w.Err.String(), "flock-etcd: requests to etcd fail; the wait for "+name+" goes on: ")
		})
	networks[1].Restore()
	leasetest.Await(t, "the last word of the waiter", func() bool {
		return strings.Count(w.Err.String(), "\n") == 2 &&
			strings.HasSuffix(w.Err.String(), "\nflock-etcd: etcd answers again\n")
	})
	h.Release(t)
	w.AwaitOutput(t)
	w.Release(t)
}

// TestRefusedHolder has etcd answer a holder that it refuses to renew its lock. The holder says what etcd says before
// that costs the command its life, and that the lock was renewed.
func TestRefusedHolder(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1, Flags: []string{"--bcrypt-cost", "4"}})
	e, ctx := append(secure(t, c), "FLOCK_ETCD_TTL=20"), t.Context()
	root, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Username: "root", Password: "geheim"})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	change := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	setPassword := func(password string) func() {
		return func() { change(root.UserChangePassword(ctx, "cron", password)) }
	}
	for _, x := range []struct {
		refuse, relent func()
		says           string
	}{
		{func() { change(root.UserRevokeRole(ctx, "cron", "root")) },
			func() { change(root.UserGrantRole(ctx, "cron", "root")) },
			"etcd refuses: etcdserver: permission denied\nflock-etcd: see flock-etcd(1), Rights in etcd\n"},
		{setPassword("other"), setPassword("geheim"),
			"etcd refuses: etcdserver: authentication failed, invalid user ID or password\n"},
	} {
		h := e.Hold(t, flockEtcd, "name")
		x.refuse()
		leasetest.Await(t, x.says, func() bool { return strings.HasSuffix(h.Err.String(), " s: "+x.says) })
		x.relent()
		leasetest.Await(t, "the renewal", func() bool {
			return strings.HasSuffix(h.Err.String(), "flock-etcd: etcd has renewed the lock name\n")
		})
		h.Release(t)
		if text := h.Err.String(); !strings.HasPrefix(text, "flock-etcd: etcd has not renewed the lock name for ") {
			t.Error(text)
		}
	}
}

// TestSilenceToLongLease has etcd silent to a waiter that could do without an answer for a long time.
func TestSilenceToLongLease(t *testing.T) {
	t.Parallel()
	n, name := networkTo(t, sharedCluster(t)), leasetest.LockName(t)
	h := ours(t).Hold(t, flockEtcd, name)
	w := reach(n.Endpoints(), "FLOCK_ETCD_TTL=600", "FLOCK_ETCD_WARNINGS=false").
		Queue(t, flockEtcd, "--report", "0", name)
	leasetest.Await(t, "its report", func() bool { return strings.Contains(w.Err.String(), ": waiting for ") })
	n.BlackHole()
	leasetest.Await(t, "a word of the waiter",
		func() bool {
			return strings.Contains(w.Err.String(), "\nflock-etcd: requests to etcd fail; the wait for "+name+" goes on: ")
		})
	n.Restore()
	h.Release(t)
	w.AwaitOutput(t)
	w.Release(t)
}

// TestProcessOne has a waiter that is process 1, as in a container, and so cannot die by a signal.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a pid namespace")
	}
	name, e := leasetest.LockName(t), ours(t)
	h := e.Hold(t, flockEtcd, name)
	w := e.Start(t, "unshare", "-p", "-f", "--mount-proc", flockEtcd, name, "echo", "in")
	awaitLine(t, sharedCluster(t), name, 2)
	kill(leasetest.GuardOf(t, w.Process.Pid), syscall.SIGTERM) // the only child of unshare
	w.AwaitEnd(t).Check(t, 143, "", "")
	h.Release(t)
}

// TestOtherSignals sends signals that the Go runtime would ignore.
func TestOtherSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH} {
		h := ours(t).Start(t, flockEtcd, leasetest.LockName(t), "sh", "-c",
			"exec 2>/dev/null; trap 'echo got it; exit 9' USR1 USR2 ALRM WINCH; echo ready; "+
				"while :; do sleep 0.05; done")
		h.AwaitOutput(t)
		kill(h.Process.Pid, sig)
		h.AwaitEnd(t).Check(t, 9, "ready\ngot it\n", "")
	}
}

// TestTerminalOfContainer has flock-etcd lead the session of a terminal. Signals reach the command from the terminal
// and by kill, each once.
func TestTerminalOfContainer(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"kill", "key"} {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer master.Close()
		n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		p := ours(t).Prepare(flockEtcd, leasetest.LockName(t), "sh", "-c",
			"n=; trap 'echo got it; n=1' INT; echo ready; while [ ! $n ]; do sleep 0.05; done; sleep 0.5; exit 9")
		p.Stdin, p.SysProcAttr = terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true}
		p.Launch(t)
		p.AwaitOutput(t)
		if way == "kill" {
			kill(p.Process.Pid, syscall.SIGINT)
		} else {
			master.Write([]byte{3})
		}
		p.AwaitEnd(t).Check(t, 9, "ready\ngot it\n", "")
	}
}

// TestService reads what systemd is told.
func TestService(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	next := func(want string) {
		t.Helper()
		socket.SetReadDeadline(time.Now().Add(20*time.Second + allowance))
		for b := make([]byte, 4096); ; {
			n, err := socket.Read(b)
			if err != nil {
				t.Fatalf("%v instead of %q", err, want)
			}
			if strings.Contains(string(b[:n]), want) {
				return
			}
		}
	}
	name := leasetest.LockName(t)
	h := ours(t).Hold(t, flockEtcd, name)
	w := ours(t, "FLOCK_ETCD_TTL=5", "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=4000000").Queue(t, flockEtcd, name)
	host, _ := os.Hostname()
	next("READY=1\nSTATUS=asking for " + name)
	next(fmt.Sprintf("STATUS=waiting for %s, held by process %d of ", name, h.Process.Pid))
	next("WATCHDOG=1")
	h.Release(t)
	next("STATUS=has the lock " + name + " since 20")
	next("WATCHDOG=1")
	w.Release(t)
	if host == "" || w.Err.String() != "" {
		t.Error(&w.Err)
	}
	p := ours(t, "NOTIFY_SOCKET="+path).Run(t, flockEtcd, name, "sh", "-c", "echo $NOTIFY_SOCKET")
	p.Check(t, 0, "\n", "")
}
