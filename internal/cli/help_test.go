package cli

import "testing"

// A program that make did not build says so in its one line, since the signals that its caller ignores are not ignored
// in its commands. That of make is in compat_test/beyond/hints.sh.
func TestVersionWithoutMake(t *testing.T) {
	if builtWithMake() {
		t.Skip("the test was built with the tag of the Makefile")
	}
	want := "flock-x from util-linux 2.42 (compatible with it, in Go, built without make): flock-go 1.2\n"
	if got := VersionText("flock-x", "1.2"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
