package fallback

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestThisMachine: what the system tells is known.
func TestThisMachine(t *testing.T) {
	m := thisMachine()
	for file, known := range map[string]string{"pid": m.pidNS.number, "user": m.user.namespace} {
		if link, err := os.Readlink("/proc/self/ns/" + file); err != nil || known != strings.Trim(link, file+":[]") {
			t.Errorf("%q is not %q", known, link)
		}
	}
	if m.pidNS.start1 == "" {
		t.Error("the start of process 1 is not known")
	}
}

func init() {
	roles["tell the machine in a chroot"] = func(dir string, _ int) {
		must(unix.Chroot(dir))
		os.Stdout.WriteString(newID(1, 0, time.Now(), thisMachine()))
	}
}

// TestMachineInAChroot: where nothing but its name tells a machine, another process can be on another one of that name.
func TestMachineInAChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may do this")
	}
	var machines [2]machine
	for i := range machines {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "FALLBACK_ROLE=tell the machine in a chroot", "FALLBACK_PLACE="+t.TempDir())
		text, err := c.Output()
		must(err)
		o, _ := parseOwner(string(text))
		machines[i] = o.machine
	}
	if m := machines[0]; m.host == "" || m.relation(m) != askable || m.relation(machines[1]) != otherMachine {
		t.Errorf("%q: to itself %v, to the other %v", m, m.relation(m), m.relation(machines[1]))
	}
}

// TestNamespaceOf: a kernel that was built without a kind of namespaces has no link for it, and one namespace. Where
// there are no links at all nothing is known.
func TestNamespaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		links map[string]string
		want  string
	}{
		"with them":        {map[string]string{"mnt": "mnt:[4026531840]", "pid": "pid:[4026532198]"}, "4026532198"},
		"without them":     {map[string]string{"mnt": "mnt:[4026531840]"}, initialPIDs},
		"before the links": {nil, ""},
	} {
		dir := t.TempDir()
		for kind, link := range c.links {
			if err := os.Symlink(link, filepath.Join(dir, kind)); err != nil {
				t.Fatal(err)
			}
		}
		if got := namespaceOf(dir, "pid", initialPIDs); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
