//go:build linux

package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// ours returns an environment for the shared cluster.
func ours(t *testing.T, more ...string) leasetest.Environment {
	t.Helper()
	return reach(strings.Join(sharedCluster(t).Endpoints(), ","), more...)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const with = " cannot be combined with the backend etcd"
	const noAddress = "invalid ETCDCTL_ENDPOINTS: not a list of HOST:PORT, each perhaps after http:// or https://\n" +
		"flock-etcd: put commas between the addresses: etcd1:2379,etcd2:2379"
	const nameHint = "\nflock-etcd: give a name without a slash, or an absolute path"
	for _, c := range []struct {
		words string
		err   string
	}{
		{"", "not enough arguments\nTry 'flock-etcd --help' for more information."},
		{"-u name true", "--unlock" + with},
		{"9", "a descriptor number" + with + "\nflock-etcd: give a name and a command"},
		{"ETCDCTL_ENDPOINTS=etcd1 name true", noAddress},
		{"ETCDCTL_DISCOVERY_SRV=example.org name true",
			"invalid ETCDCTL_DISCOVERY_SRV: this variable is not supported\nflock-etcd: see flock-etcd(1), ENVIRONMENT"},
		{"./a true", "a relative path means another lock in each directory: './a'" + nameHint},
		{". true", "invalid name of a lock: '.'"},
		{"--cooldown 5 --permits 2 name true", "--cooldown cannot be combined with --shared or --permits"},
		{"FLOCK_ETCD_TTL=1 name true", "invalid FLOCK_ETCD_TTL: seconds, from 2 to 86400"},
		{"ETCDCTL_DIAL_TIMEOUT=5 name true", "invalid ETCDCTL_DIAL_TIMEOUT: a number with its unit, such as 2s"},
		{"ETCDCTL_USER=root name true", "invalid ETCDCTL_USER or ETCDCTL_PASSWORD: one is set without the other\n" +
			"flock-etcd: set both, or ETCDCTL_USER and FLOCK_ETCD_PASSWORD_FILE"},
		{"ETCDCTL_CERT=/nonexistent name true", "invalid ETCDCTL_CACERT, ETCDCTL_CERT or ETCDCTL_KEY: " +
			"KeyFile and CertFile must both be present[key: , cert: /nonexistent]"},
		{"ETCDCTL_CACERT=/nonexistent name true",
			"invalid ETCDCTL_CACERT, ETCDCTL_CERT or ETCDCTL_KEY: open /nonexistent: no such file or directory"},
	} {
		t.Run(c.words, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(c.words)
			e := ours(t)
			for len(words) > 0 && strings.Contains(words[0], "=") {
				e, words = append(e, words[0]), words[1:]
			}
			e.Run(t, append([]string{flockEtcd}, words...)...).Check(t, 64, "", "flock-etcd: "+c.err+"\n")
		})
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t)
	h := e.Hold(t, flockEtcd, name)
	e.Run(t, flockEtcd, "-n", name, "echo", "ran").Check(t, 1, "", "")
	e.Run(t, flockEtcd, "-n", "-E", "77", name, "echo", "ran").Check(t, 77, "", "")
	e.Run(t, flockEtcd, "-s", "-n", "--verbose", name, "echo", "ran").
		Check(t, 1, "", "flock-etcd: failed to get lock\n")
	e.Run(t, flockEtcd, "--permits", "3", "-n", name, "echo", "ran").Check(t, 1, "", "")
	began := time.Now()
	e.Run(t, flockEtcd, "-w", "0.7", "-E", "5", "--verbose", name, "echo", "ran").
		Check(t, 5, "", "flock-etcd: timeout while waiting to get lock\n")
	if d := time.Since(began); d < 700*time.Millisecond || d > 700*time.Millisecond+allowance {
		t.Errorf("-w 0.7 waited for %v", d)
	}
	if keys := line(t, sharedCluster(t), name); len(keys) != 1 {
		t.Errorf("those who did not get the lock are still in the line: %q", keys)
	}
	waiter := e.Queue(t, flockEtcd, "--verbose", name)
	awaitLine(t, sharedCluster(t), name, 2)
	h.Release(t)
	leasetest.Await(t, "the waiter", func() bool { return strings.HasSuffix(waiter.Out.String(), ".\n") })
	waiter.Release(t)
	if !regexp.MustCompile(`^flock-etcd: getting lock took \d+\.\d{6} seconds\nflock-etcd: executing sh\n\d+\.\n$`).
		MatchString(waiter.Out.String()) {
		t.Errorf("with --verbose: %q", waiter.Out.String())
	}
	if keys := line(t, sharedCluster(t), name); len(keys) != 0 {
		t.Errorf("still in the line: %q", keys)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t)
	c := sharedCluster(t)

	reader, reader2 := e.Hold(t, flockEtcd, "-s", name), e.Hold(t, flockEtcd, "-s", name)
	e.Run(t, flockEtcd, "-n", name, "true").Check(t, 1, "", "")
	writer := e.Queue(t, flockEtcd, "-x", name)
	awaitLine(t, c, name, 3)
	late := e.Queue(t, flockEtcd, "-s", name) // does not overtake the writer
	awaitLine(t, c, name, 4)
	e.Run(t, flockEtcd, "-s", "-n", name, "true").Check(t, 1, "", "")
	reader.Release(t)
	reader2.Release(t)
	leasetest.Await(t, "the writer", func() bool { return writer.Out.String() != "" })
	if late.Out.String() != "" {
		t.Error("a shared one is beside an exclusive one")
	}
	writer.Release(t)
	leasetest.Await(t, "the late reader", func() bool { return late.Out.String() != "" })
	if late.Out.String() != ".\n" {
		t.Error("a shared one has a token")
	}
	late.Release(t)

	a, b := e.Hold(t, flockEtcd, "--permits", "2", name), e.Hold(t, flockEtcd, "--permits", "2", name)
	e.Run(t, flockEtcd, "--permits", "2", "-n", name, "true").Check(t, 1, "", "")
	e.Run(t, flockEtcd, "--permits", "3", "-n", name, "true").Check(t, 0, "", "")
	e.Run(t, flockEtcd, "-n", name, "true").Check(t, 1, "", "")
	third := e.Queue(t, flockEtcd, "--permits", "2", name)
	awaitLine(t, c, name, 3)
	fourth := e.Queue(t, flockEtcd, "--permits", "2", name)
	awaitLine(t, c, name, 4)
	for _, x := range []*leasetest.Holding{b, third} {
		leasetest.Await(t, "a permit", func() bool { return x.Out.String() != "" })
		x.Release(t)
	}
	leasetest.Await(t, "the last permit", func() bool { return fourth.Out.String() != "" })
	fourth.Release(t)
	a.Release(t)
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	e := ours(t, "FLOCK_ETCD_TTL=2")
	t.Run("not over", func(t *testing.T) {
		t.Parallel()
		name := leasetest.LockName(t)
		e.Run(t, flockEtcd, "--cooldown", "600", name, "true").Check(t, 0, "", "")
		p := e.Run(t, flockEtcd, "-n", "--cooldown", "600", "--verbose", name, "true")
		if p.Status != 1 || !regexp.MustCompile(`^flock-etcd: cooldown until 20.*\nflock-etcd: failed to get lock\n$`).
			MatchString(p.Err.String()) {
			t.Errorf("%d %q", p.Status, &p.Err)
		}
		p = e.Run(t, flockEtcd, "--holders", name)
		if p.Status != 1 || !regexp.MustCompile(`^- +- +cooldown +- +until 20`).MatchString(p.Out.String()) {
			t.Errorf("%d %q", p.Status, &p.Out)
		}
		e.Run(t, flockEtcd, "-w", "2", "--cooldown", "600", name, "true").Check(t, 1, "", "")
		e.Run(t, flockEtcd, "-n", name, "true").Check(t, 0, "", "") // it does not ask for it
	})
	t.Run("of a holder that was killed", func(t *testing.T) {
		t.Parallel()
		name := leasetest.LockName(t)
		h := e.Hold(t, flockEtcd, "--cooldown", "6", name)
		began := time.Now()
		kill(h.Process.Pid, syscall.SIGKILL)
		awaitLine(t, sharedCluster(t), name, 0)
		if time.Since(began) < 5*time.Second {
			e.Run(t, flockEtcd, "-n", "--cooldown", "6", name, "true").Check(t, 1, "", "")
		} else {
			t.Log("not checked: the key stayed for too long")
		}
		e.Run(t, flockEtcd, "--cooldown", "6", name, "true").Check(t, 0, "", "")
		if d := time.Since(began); d < 5400*time.Millisecond { // it was renewed a fifth of the TTL before
			t.Errorf("the cooldown of 6 s was over %v after its beginning", d)
		}
	})
	// The command of a lock that was lost has run. Its cooldown goes on.
	for what, lose := range map[string]func(t *testing.T, h *leasetest.Holding){
		"stopped for too long": func(t *testing.T, h *leasetest.Holding) {
			h.Process.Signal(syscall.SIGSTOP)
			awaitLine(t, sharedCluster(t), leasetest.LockName(t), 0)
			h.Process.Signal(syscall.SIGCONT)
		},
		"whose guard is killed": func(t *testing.T, h *leasetest.Holding) {
			kill(leasetest.GuardOf(t, h.Process.Pid), syscall.SIGKILL)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := leasetest.LockName(t)
			h := e.Hold(t, flockEtcd, "--cooldown", "600", name)
			lose(t, h)
			if h.AwaitEnd(t); h.Status != 75 {
				t.Errorf("%d %q", h.Status, &h.Err)
			}
			e.Run(t, flockEtcd, "-n", "--cooldown", "600", name, "echo", "ran").Check(t, 1, "", "")
			e.Run(t, flockEtcd, "-n", name, "true").Check(t, 0, "", "")
		})
	}
}

func TestHolders(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t)
	e.Run(t, flockEtcd, "--holders", name).Check(t, 1, "", "")
	h := e.Hold(t, flockEtcd, name)
	w := e.Queue(t, flockEtcd, "-s", name)
	awaitLine(t, sharedCluster(t), name, 2)
	host, _ := os.Hostname()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	p := e.Run(t, flockEtcd, "--holders", name)
	const at = ` 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} `
	keys := line(t, sharedCluster(t), name)
	expected := fmt.Sprintf(`^%s +%d +exclusive +%s%s%s\n%s +%d +shared \(waiting\) +%s%s%s\n$`,
		regexp.QuoteMeta(host), h.Process.Pid, regexp.QuoteMeta(u.Username), at, keys[0],
		regexp.QuoteMeta(host), w.Process.Pid, regexp.QuoteMeta(u.Username), at, keys[1])
	if p.Status != 0 || !regexp.MustCompile(expected).MatchString(p.Out.String()) {
		t.Errorf("status %d: %s", p.Status, &p.Out)
	}
	h.Release(t)
	leasetest.Await(t, "the reader", func() bool { return w.Out.String() != "" })
	w.Release(t)
	a, b := e.Hold(t, flockEtcd, "--permits", "1", name), e.Queue(t, flockEtcd, "--permits", "1", name)
	awaitLine(t, sharedCluster(t), name, 2)
	p = e.Run(t, flockEtcd, "--holders", name)
	got := regexp.MustCompile(` permit( \(waiting\))?`).FindAllString(p.Out.String(), -1)
	if fmt.Sprint(got) != "[ permit  permit (waiting)]" {
		t.Errorf("permits: %s", &p.Out)
	}
	a.Release(t)
	leasetest.Await(t, "the permit", func() bool { return b.Out.String() != "" })
	b.Release(t)
	p = e.Run(t, flockEtcd, "--holders", name)
	last := fmt.Sprintf(`^%s %d last %s%suntil%s/flock/%s/last\n$`, regexp.QuoteMeta(host), b.Process.Pid,
		regexp.QuoteMeta(u.Username), at, strings.TrimSuffix(at, " ")+", status 3 ", name)
	if p.Status != 1 || !regexp.MustCompile(last).MatchString(p.Out.String()) {
		t.Errorf("status %d: %s", p.Status, &p.Out)
	}
}

// TestHoldersOfAll lists all locks below a prefix, in the order of their names.
func TestHoldersOfAll(t *testing.T) {
	t.Parallel()
	e := ours(t, "FLOCK_ETCD_PREFIX=/"+leasetest.LockName(t))
	e.Run(t, flockEtcd, "--holders").Check(t, 1, "", "")
	b := e.Hold(t, flockEtcd, "b")
	a, w := e.Hold(t, flockEtcd, "-s", "/a/x"), e.Queue(t, flockEtcd, "b")
	e.Run(t, flockEtcd, "--cooldown", "60", "c", "true").Check(t, 0, "", "")
	listed := regexp.MustCompile(`(exclusive|shared|cooldown)( \(waiting\))? .*/TestHoldersOfAll/([^/]*)/`)
	leasetest.Await(t, "the list", func() bool {
		p := e.Run(t, flockEtcd, "--holders")
		var got []string
		for _, m := range listed.FindAllStringSubmatch(p.Out.String(), -1) {
			got = append(got, m[3]+" "+m[1]+m[2])
		}
		return p.Status == 0 &&
			strings.Join(got, ", ") == "%2Fa%2Fx shared, b exclusive, b exclusive (waiting), c cooldown"
	})
	e.Run(t, flockEtcd, "--holders", "").Check(t, 64, "", "flock-etcd: invalid name of a lock: ''\n")
	b.Release(t)
	w.AwaitOutput(t)
	w.Release(t)
	a.Release(t)
	if p := e.Run(t, flockEtcd, "--holders"); p.Status != 1 || strings.Count(p.Out.String(), "\n") != 1 {
		t.Errorf("with a cooldown alone: %d, %s", p.Status, &p.Out)
	}
}

// TestBreak takes a lock away from its holder.
func TestBreak(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t, "FLOCK_ETCD_TTL=600")
	e.Run(t, flockEtcd, "--break", name).Check(t, 1, "", "")
	h := e.Hold(t, flockEtcd, name)
	w := e.Queue(t, flockEtcd, name)
	awaitLine(t, sharedCluster(t), name, 2)
	p := e.Run(t, flockEtcd, "--break", name)
	says := fmt.Sprintf("flock-etcd: took the lock %s away from process %d of ", name, h.Process.Pid)
	if p.Status != 0 || !strings.HasPrefix(p.Err.String(), says) || strings.Count(p.Err.String(), "\n") != 2 {
		t.Errorf("%d %s", p.Status, &p.Err)
	}
	h.AwaitEnd(t)
	h.Check(t, 75, h.Out.String(),
		"flock-etcd: lost the lock "+name+": etcd has dropped its key or its lease; the command was killed\n")
	w.AwaitOutput(t)
	w.Release(t)
	e.Run(t, flockEtcd, "--break").Check(t, 64, "", "flock-etcd: --holders and --break take one name\n")
}

// TestTooLarge has a name that is longer than what etcd takes.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, cluster.Options{Members: 1, Flags: []string{"--max-request-bytes", "1000"}})
	p := reach(c.Endpoints()[0]).Run(t, flockEtcd, strings.Repeat("x", 2000), "echo", "ran")
	p.Check(t, 65, "", "flock-etcd: etcd refuses: etcdserver: request is too large\n")
}

func TestNames(t *testing.T) {
	t.Parallel()
	base := leasetest.LockName(t)
	e := ours(t)
	var all []*leasetest.Holding
	names := []string{base, base + "x", "/" + base, "/" + base + "/line/x", "/" + base + "/", base + " ü%2F\n",
		base + "%2F", "-" + base, base + ":*?", "9"}
	for _, name := range names {
		all = append(all, e.Hold(t, flockEtcd, "-n", "--", name))
	}
	for _, name := range names {
		e.Run(t, flockEtcd, "-n", "--", name, "true").Check(t, 1, "", "")
		if p := e.Run(t, flockEtcd, "--holders", "--", name); p.Status != 0 ||
			strings.Count(p.Out.String(), "\n") != 1 {
			t.Errorf("--holders of %q: %d %s", name, p.Status, &p.Out)
		}
	}
	for _, h := range all {
		h.Release(t)
	}
	e.Run(t, flockEtcd, "-n", base, "true").Check(t, 0, "", "")
	other := ours(t, "FLOCK_ETCD_PREFIX=/elsewhere/")
	h := other.Hold(t, flockEtcd, base)
	e.Run(t, flockEtcd, "-n", base, "true").Check(t, 0, "", "")
	other.Run(t, flockEtcd, "-n", base, "true").Check(t, 1, "", "")
	h.Release(t)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run("to a waiter: "+sig.String(), func(t *testing.T) {
			t.Parallel()
			name := leasetest.LockName(t)
			e := ours(t, "FLOCK_ETCD_TTL=60")
			h := e.Hold(t, flockEtcd, name)
			w := e.Queue(t, flockEtcd, name)
			awaitLine(t, sharedCluster(t), name, 2)
			kill(w.Process.Pid, sig)
			w.AwaitEnd(t)
			if w.Signal != sig && !(sig == syscall.SIGQUIT && w.Status == 131) || w.Err.String() != "" {
				t.Errorf("status %d, signal %v, %s", w.Status, w.Signal, &w.Err)
			}
			if keys := line(t, sharedCluster(t), name); len(keys) != 1 {
				t.Errorf("in the line: %q", keys)
			}
			h.Release(t)
		})
		t.Run("to a holder: "+sig.String(), func(t *testing.T) {
			t.Parallel()
			name := leasetest.LockName(t)
			e := ours(t, "FLOCK_ETCD_TTL=60")
			h := e.Start(t, flockEtcd, name, "sh", "-c",
				"exec 2>/dev/null; trap 'echo got it; exit 9' TERM INT HUP QUIT; echo ready; "+
					"while :; do sleep 0.05; done")
			leasetest.Await(t, "the command", func() bool { return h.Out.String() != "" })
			kill(h.Process.Pid, sig)
			h.AwaitEnd(t)
			h.Check(t, 9, "ready\ngot it\n", "")
			e.Run(t, flockEtcd, "-n", name, "true").Check(t, 0, "", "")
			h = e.Start(t, flockEtcd, name, "sh", "-c", "echo ready; exec sleep 100")
			leasetest.Await(t, "the command", func() bool { return h.Out.String() != "" })
			kill(h.Process.Pid, sig)
			h.AwaitEnd(t)
			h.Check(t, 128+int(sig), "ready\n", "")
			if h.Signal != sig && sig != syscall.SIGQUIT {
				t.Errorf("the command has died of %v, and flock-etcd has not", sig)
			}
			e.Run(t, flockEtcd, "-n", name, "true").Check(t, 0, "", "")
			// A status that only looks like a signal, and a signal that was for the command alone.
			h = e.Start(t, flockEtcd, name, "sh", "-c",
				fmt.Sprintf("trap 'exit %d' %d; echo ready; while :; do sleep 0.05; done", 128+sig, sig))
			leasetest.Await(t, "the command", func() bool { return h.Out.String() != "" })
			kill(h.Process.Pid, sig)
			if h.AwaitEnd(t); h.Signal != 0 {
				t.Errorf("flock-etcd has died of %v, and the command has not", h.Signal)
			}
			h = e.Run(t, flockEtcd, name, "sh", "-c", fmt.Sprintf("kill -%d $$", sig))
			if h.Signal != 0 || h.Status != 128+int(sig) {
				t.Errorf("flock-etcd has died of %v, which was not for it", h.Signal)
			}
		})
		if sig == syscall.SIGTERM || sig == syscall.SIGQUIT {
			continue // the Go runtime forgets that these were ignored, as the manual says
		}
		t.Run("ignored: "+sig.String(), func(t *testing.T) {
			t.Parallel()
			name := leasetest.LockName(t)
			e := ours(t)
			h := e.Start(t, "sh", "-c", fmt.Sprintf(`trap '' %d; exec "$@"`, sig), "sh", flockEtcd, name, "sh", "-c",
				`grep SigIgn /proc/$$/status; read line; exit 3`)
			in := regexp.MustCompile(`SigIgn:\s*([0-9a-f]+)`)
			leasetest.Await(t, "the command", func() bool { return in.MatchString(h.Out.String()) })
			mask, _ := strconv.ParseUint(in.FindStringSubmatch(h.Out.String())[1], 16, 64)
			if mask&(1<<(sig-1)) == 0 {
				t.Errorf("the command does not ignore it: %s", &h.Out)
			}
			h.AwaitEnd(t)
		})
	}
}

// TestSignalToNewGuard has a signal reach the guard before it catches signals, as one to the process group can.
func TestSignalToNewGuard(t *testing.T) {
	t.Parallel()
	e := ours(t)
	for range 200 {
		p := e.Start(t, flockEtcd, leasetest.LockName(t), "true")
		guards := leasetest.Children(p.Process.Pid)
		for end := time.Now().Add(allowance); len(guards) == 0 && time.Now().Before(end); {
			guards = leasetest.Children(p.Process.Pid)
		}
		for _, guard := range guards {
			kill(guard, syscall.SIGTERM)
		}
		if p.AwaitEnd(t); p.Signal == syscall.SIGTERM && p.Err.String() == "" {
			return
		}
		p.Check(t, 0, "", "") // it came too late
	}
	t.Error("it came too late each time")
}

func TestInherited(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t, "PASSED=on")
	dir := t.TempDir()
	p := e.Prepare(flockEtcd, name, "sh", "-c",
		`cat; echo "$PASSED $PWD $(umask)"; cat <&7; ls /proc/self/fd | tr '\n' ' '; `+
			`grep -E 'Sig(Blk|Ign)' /proc/self/status`)
	p.Dir, p.Stdin = dir, strings.NewReader("input\n")
	f, err := os.Create(filepath.Join(dir, "seven"))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("seven\n")
	f.Seek(0, 0)
	p.ExtraFiles = []*os.File{nil, nil, nil, nil, f}
	p.Launch(t)
	p.AwaitEnd(t)
	direct := exec.Command("sh", "-c",
		"umask; ls /proc/self/fd | tr '\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status")
	direct.ExtraFiles = p.ExtraFiles
	f.Seek(0, 0)
	out, err := direct.Output()
	if err != nil {
		t.Fatal(err)
	}
	mask, rest, _ := strings.Cut(string(out), "\n")
	p.Check(t, 0, fmt.Sprintf("input\non %s %s\nseven\n%s", dir, mask, rest), "")
}

func TestBackground(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t)
	p := e.Run(t, flockEtcd, name, "sh", "-c",
		"sleep 50 </dev/null >/dev/null 2>&1 & echo $!; setsid sleep 50 </dev/null >/dev/null 2>&1 & echo $!")
	pids := strings.Fields(p.Out.String())
	if p.Status != 0 || len(pids) != 2 {
		t.Fatalf("%d %s %s", p.Status, &p.Out, &p.Err)
	}
	e.Run(t, flockEtcd, "-n", name, "true").Check(t, 0, "", "")
	for _, word := range pids {
		pid, _ := strconv.Atoi(word)
		if !strings.Contains(leasetest.Read("/proc/"+word+"/cmdline"), "sleep") {
			t.Errorf("a child of the command that it left behind at its normal end is dead")
		}
		kill(pid, syscall.SIGKILL)
	}
}

func TestScriptHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	text := "#!/bin/sh\n[ \"$FLOCKER\" != \"$0\" ] && exec env FLOCKER=\"$0\" " + flockEtcd +
		" -n \"$0\" \"$0\" \"$@\" || :\necho \"$1 $FLOCK_TOKEN\"; read line\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	e := ours(t)
	first := e.Prepare(script, "first")
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	first.Launch(t)
	leasetest.Await(t, "the script", func() bool { return strings.HasPrefix(first.Out.String(), "first ") })
	e.Run(t, script, "second").Check(t, 1, "", "")
	in.Close()
	first.AwaitEnd(t)
	if p := e.Run(t, script, "third"); !strings.HasPrefix(p.Out.String(), "third ") {
		t.Errorf("%d %s %s", p.Status, &p.Out, &p.Err)
	}
}

// TestByFlock runs flock, which becomes flock-etcd.
func TestByFlock(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t)
	h := e.Hold(t, flockEtcd, name)
	e.Run(t, flock, "--backend", "etcd", "-n", "-E", "9", name, "echo", "ran").Check(t, 9, "", "")
	append(e, "FLOCK_BACKEND=etcd").Run(t, flock, "-n", name, "-c", "echo ran").Check(t, 1, "", "")
	if p := e.Run(t, flock, "--backend=etcd", "--holders", name); p.Status != 0 ||
		!strings.Contains(p.Out.String(), " exclusive ") {
		t.Errorf("%d %s %s", p.Status, &p.Out, &p.Err)
	}
	h.Release(t)
	e.Run(t, flock, "--backend", "etcd", "-n", name, "sh", "-c", "echo ran; exit 4").Check(t, 4, "ran\n", "")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	name := leasetest.LockName(t)
	e := ours(t, "FLOCK_TOKEN=9999999")
	// A value from outside is not passed on to one who has no token of his own.
	p := e.Run(t, flockEtcd, name, "env")
	if n := strings.Count(p.Out.String(), "FLOCK_TOKEN="); n != 1 || strings.Contains(p.Out.String(), "9999999") {
		t.Errorf("the environment of an exclusive holder: %s", &p.Out)
	}
	e.Run(t, flockEtcd, "-s", name, "sh", "-c", "echo $FLOCK_TOKEN").Check(t, 0, "\n", "")
}

func TestDroppedByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		drop func(t *testing.T, key *clientv3.GetResponse)
	}{
		{"key deleted", func(t *testing.T, r *clientv3.GetResponse) {
			if _, err := sharedCluster(t).Client().Delete(context.Background(), string(r.Kvs[0].Key)); err != nil {
				t.Fatal(err)
			}
		}},
		{"lease revoked", func(t *testing.T, r *clientv3.GetResponse) {
			id := clientv3.LeaseID(r.Kvs[0].Lease)
			if _, err := sharedCluster(t).Client().Revoke(context.Background(), id); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := leasetest.LockName(t)
			e := ours(t, "FLOCK_ETCD_TTL=60")
			h := e.Start(t, flockEtcd, name, "sh", "-c",
				"trap '' TERM; setsid sleep 70 & echo $!; while :; do sleep 0.1; done")
			leasetest.Await(t, "the command", func() bool { return strings.HasSuffix(h.Out.String(), "\n") })
			r, err := sharedCluster(t).Client().Get(context.Background(), line(t, sharedCluster(t), name)[0])
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			c.drop(t, r)
			h.AwaitEnd(t)
			if d := h.EndedAt.Sub(began); d > allowance {
				t.Errorf("dead after %v", d)
			}
			child := strings.TrimSpace(h.Out.String())
			if strings.Contains(leasetest.Read("/proc/"+child+"/cmdline"), "sleep") {
				t.Error("a child lives on")
			}
			h.Check(t, 75, h.Out.String(),
				"flock-etcd: lost the lock "+name+": etcd has dropped its key or its lease; the command was killed\n")
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	nobody := "127.0.0.1:1" // refuses connections
	silent := networkTo(t, sharedCluster(t))
	silent.BlackHole()
	for _, c := range []struct {
		what, endpoints string
		more            string
		words           []string
		least, most     time.Duration
	}{
		{"refused, -n", nobody, "A=B", []string{"-n"}, 0, 5 * time.Second},
		{"silent, -n", silent.Endpoints(), "A=B", []string{"-n"}, 0, 5 * time.Second},
		{"refused, -w", nobody, "A=B", []string{"-w", "1"}, time.Second, time.Second},
		{"silent, -w", silent.Endpoints(), "A=B", []string{"-w", "1"}, time.Second, time.Second},
		{"refused, plain", nobody, "ETCDCTL_DIAL_TIMEOUT=3s", nil, 3 * time.Second, 3 * time.Second},
		{"silent, plain", silent.Endpoints(), "ETCDCTL_DIAL_TIMEOUT=3s", nil, 3 * time.Second, 3 * time.Second},
		{"silent, --holders", silent.Endpoints(), "ETCDCTL_DIAL_TIMEOUT=2s", []string{"--holders"},
			2 * time.Second, 2 * time.Second},
		{"several", nobody + ",127.0.0.1:2", "ETCDCTL_DIAL_TIMEOUT=1s", nil, time.Second, time.Second},
		{"no such host", "nonexistent.invalid:2379", "ETCDCTL_DIAL_TIMEOUT=1s", nil, 0, time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			words := append(append([]string{flockEtcd}, c.words...), "name")
			if c.what != "silent, --holders" {
				words = append(words, "echo", "ran")
			}
			began := time.Now()
			p := reach(c.endpoints, c.more).Run(t, words...)
			if d := p.EndedAt.Sub(began); d < c.least || d > c.most+3*time.Second {
				t.Errorf("after %v, expected after %v to %v", d, c.least, c.most)
			}
			if p.Status != 75 || p.Out.String() != "" ||
				!strings.HasPrefix(p.Err.String(), "flock-etcd: cannot reach etcd at ") ||
				strings.Count(p.Err.String(), "\n") != 1 {
				t.Errorf("status %d, %q, %q", p.Status, &p.Out, &p.Err)
			}
			if c.what == "several" {
				if !regexp.MustCompile(`2 in time: tcp 127\.0\.0\.1:[12]: connect: connection refused\n$`).
					MatchString(p.Err.String()) {
					t.Error(&p.Err)
				}
			}
			t.Log(strings.TrimSpace(p.Err.String()))
		})
	}
}

// TestPeerPort asks at the port that members have for each other.
func TestPeerPort(t *testing.T) {
	t.Parallel()
	host, port, _ := strings.Cut(sharedCluster(t).Members[0].Endpoint, ":")
	n, _ := strconv.Atoi(port)
	peer := fmt.Sprint(host, ":", n+1)
	reach(peer, "ETCDCTL_DIAL_TIMEOUT=2s").Run(t, flockEtcd, "name", "echo", "ran").
		Check(t, 64, "", "flock-etcd: cannot connect to etcd at "+peer+
			": this is not etcd's port for clients\nflock-etcd: that is usually 2379\n")
}

// TestSecure has a cluster with certificates and one with users.
func TestSecure(t *testing.T) {
	t.Parallel()
	t.Run("certificates", func(t *testing.T) {
		t.Parallel()
		files, err := cluster.NewTLS(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		other, err := cluster.NewTLS(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c := ownCluster(t, cluster.Options{Members: 1, TLS: files})
		at := strings.Join(c.Endpoints(), ",")
		good := reach(at, "ETCDCTL_DIAL_TIMEOUT=2s", "ETCDCTL_CACERT="+files.CA, "ETCDCTL_CERT="+files.ClientCert,
			"ETCDCTL_KEY="+files.ClientKey)
		h := good.Hold(t, flockEtcd, "name")
		good.Run(t, flockEtcd, "-n", "name", "true").Check(t, 1, "", "")
		append(good, "ETCDCTL_ENDPOINTS=https://"+at).Run(t, flockEtcd, "-n", "name", "true").Check(t, 1, "", "")
		h.Release(t)
		bare := reach(at)
		append(bare, "ETCDCTL_ENDPOINTS=https://"+at, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY=true",
			"ETCDCTL_CERT="+files.ClientCert, "ETCDCTL_KEY="+files.ClientKey).
			Run(t, flockEtcd, "-n", "name", "echo", "in").Check(t, 0, "in\n", "")
		plain := strings.Join(sharedCluster(t).Endpoints(), ",")
		for _, x := range []struct {
			what string
			e    leasetest.Environment
			says string
		}{
			{"wrong CA", append(good, "ETCDCTL_CACERT="+other.CA), "unknown authority"},
			{"system's CA", append(bare, "ETCDCTL_ENDPOINTS=https://"+at), "see ETCDCTL_CACERT"},
			{"plain text to TLS", append(bare, "ETCDCTL_ENDPOINTS=http://"+at), "https://"},
			{"plain text to TLS, with an authority", append(good, "ETCDCTL_ENDPOINTS=http://"+at), "with https://\n"},
			{"nothing said to TLS", bare, "https://"},
			{"TLS to plain text", append(good, "ETCDCTL_ENDPOINTS="+plain), "http://"},
			{"https to plain text",
				append(bare, "ETCDCTL_ENDPOINTS=https://"+strings.ReplaceAll(plain, ",", ",https://")), "http://"},
			{"no client certificate", append(bare, "ETCDCTL_CACERT="+files.CA), "see ETCDCTL_CERT and ETCDCTL_KEY"},
			{"foreign client certificate",
				append(good, "ETCDCTL_CERT="+other.ClientCert, "ETCDCTL_KEY="+other.ClientKey), "ETCDCTL_CERT"},
		} {
			t.Run(x.what, func(t *testing.T) {
				began := time.Now()
				p := append(x.e, "ETCDCTL_DIAL_TIMEOUT=3s").Run(t, flockEtcd, "name", "echo", "ran")
				t.Logf("%d after %v: %s",
					p.Status, p.EndedAt.Sub(began).Round(time.Millisecond), strings.TrimSpace(p.Err.String()))
				certain := x.what == "foreign client certificate" || strings.Contains(x.what, "CA")
				if p.Status != 64 && (certain || p.Status != 75) || p.Out.String() != "" ||
					strings.Count(p.Err.String(), "\n") != 2 || !strings.Contains(p.Err.String(), x.says) {
					t.Errorf("status %d, %q, %q", p.Status, &p.Out, &p.Err)
				}
				if d := p.EndedAt.Sub(began); d > allowance {
					t.Errorf("after %v", d)
				}
			})
		}
	})
	t.Run("users", func(t *testing.T) {
		t.Parallel()
		c := ownCluster(t, cluster.Options{Members: 1, Flags: []string{"--auth-token-ttl", "2", "--bcrypt-cost", "4"}})
		ctx := context.Background()
		root := c.Client()
		check := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		const secret = "geheim"
		check(root.UserAdd(ctx, "root", secret))
		check(root.UserGrantRole(ctx, "root", "root"))
		check(root.RoleAdd(ctx, "locker"))
		check(root.RoleGrantPermission(ctx, "locker", "/flock/", clientv3.GetPrefixRangeEnd("/flock/"),
			clientv3.PermissionType(clientv3.PermReadWrite)))
		for _, name := range []string{"cron", "nobody"} {
			check(root.UserAdd(ctx, name, secret+"2"))
		}
		check(root.UserGrantRole(ctx, "cron", "locker"))
		check(root.AuthEnable(ctx))
		at := strings.Join(c.Endpoints(), ",")
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte(secret+"2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fromFile := reach(at, "ETCDCTL_USER=cron", "FLOCK_ETCD_PASSWORD_FILE="+file)
		if p := fromFile.Run(t, flockEtcd, "name", "env"); p.Status != 0 || strings.Contains(p.Out.String(), secret) {
			t.Errorf("status %d, %s, the environment of the command: %s", p.Status, &p.Err, &p.Out)
		}
		cron := reach(at, "ETCDCTL_USER=cron", "ETCDCTL_PASSWORD="+secret+"2")
		h := cron.Hold(t, flockEtcd, "name")
		conflict := reach(at, "ETCDCTL_USER=cron:"+secret+"2")
		w := conflict.Queue(t, flockEtcd, "name")
		began := time.Now()
		awaitOut := func() bool {
			return strings.Contains(conflict.Run(t, flockEtcd, "--holders", "name").Out.String(), "(waiting)")
		}
		leasetest.Await(t, "the waiter", awaitOut)
		// No process of the tree has the secret among its arguments, and the list does not show it.
		for _, pid := range append(leasetest.Children(h.Process.Pid), h.Process.Pid, w.Process.Pid) {
			if words := leasetest.Read(fmt.Sprintf("/proc/%d/cmdline", pid)); words == "" ||
				strings.Contains(words, secret) {
				t.Errorf("arguments of process %d: %q", pid, words)
			}
		}
		if out := conflict.Run(t, flockEtcd, "--holders", "name").Out.String(); strings.Contains(out, secret) {
			t.Error(out)
		}
		// The tokens of the client end several times meanwhile.
		time.Sleep(time.Until(began.Add(7 * time.Second)))
		h.Release(t)
		w.AwaitOutput(t)
		w.Release(t)
		cron.Run(t, flockEtcd, "--cooldown", "3", "name", "true").Check(t, 0, "", "")
		for _, x := range []struct {
			what string
			e    leasetest.Environment
		}{
			{"wrong password", reach(at, "ETCDCTL_USER=cron", "ETCDCTL_PASSWORD="+secret)},
			{"no permission", reach(at, "ETCDCTL_USER=nobody", "ETCDCTL_PASSWORD="+secret+"2")},
			{"another prefix", append(append(leasetest.Environment{}, cron...), "FLOCK_ETCD_PREFIX=/other")},
			{"no user", reach(at)},
		} {
			for _, options := range [][]string{nil, {"-n"}} {
				began := time.Now()
				p := x.e.Run(t, append(append([]string{flockEtcd}, options...), "name", "echo", "ran")...)
				t.Logf("%s %v: %d after %v: %s", x.what, options,
					p.Status, p.EndedAt.Sub(began).Round(time.Millisecond), strings.TrimSpace(p.Err.String()))
				if p.Status != 66 || p.Out.String() != "" || strings.Count(p.Err.String(), "\n") > 2 ||
					strings.Contains(p.Err.String(), secret) {
					t.Errorf("%s: %d %q %q", x.what, p.Status, &p.Out, &p.Err)
				}
				if x.what == "no user" {
					p.Check(t, 66, "", "flock-etcd: etcd refuses: etcdserver: user name is empty\n"+
						"flock-etcd: set ETCDCTL_USER and its password\n")
				}
			}
		}
	})
}

// TestContract checks the program against what flock(1) says about those of backends.
func TestContract(t *testing.T) {
	t.Parallel()
	ours(t).CheckContract(t, flockEtcd)
}
