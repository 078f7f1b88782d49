//go:build unix

package locks

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAdviceIsACommand: what it says to call reaches the file, also by a shell.
func TestAdviceIsACommand(t *testing.T) {
	for _, name := range []string{"plain", "two words", "it's $HOME", `a\b*`, "tab\tx", "a:~"} {
		path := "/" + name + "/" + name
		for _, base := range []string{"", "/" + name} {
			call, _, _ := strings.Cut(command(path, base)[1:], `"`)
			script := `flock() { printf "%s|" "$FLOCK_DIR" "$@"; }; ` + call
			out, err := exec.Command("env", "-u", "FLOCK_DIR", "sh", "-c", script).CombinedOutput()
			if want := base + "|--backend|directory|-n|" + path + "|true|"; err != nil || string(out) != want {
				t.Errorf("%s prints %q, not %q: %v", call, out, want, err)
			}
		}
	}
}
