//go:build linux

package test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.org/flock/fleet/lease/leasetest"
	"example.org/flock/fleet/postgres/test/server"
)

// TestStop looks for what a server leaves of its shared memory, with a crash before and without: a machine has room for
// so many servers only.
func TestStop(t *testing.T) {
	t.Parallel()
	for what, before := range map[string]func(*server.Server){
		"running":   func(*server.Server) {},
		"frozen":    (*server.Server).Freeze,
		"crashed":   (*server.Server).Crash,
		"shut down": (*server.Server).ShutDown,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t, 2)
			id, err := s.Segment()
			if err != nil || !hasSegment(id) {
				t.Fatalf("segment %d is not there: %v", id, err)
			}
			maps := leasetest.Read("/proc/" + strings.Fields(leasetest.Read(s.Dir() + "/data/postmaster.pid"))[0] + "/maps")
			before(s)
			s.Stop()
			if hasSegment(id) {
				t.Errorf("segment %d is left", id)
			}
			for line := range strings.Lines(maps) {
				_, name, isShared := strings.Cut(strings.TrimSpace(line), "/dev/shm/")
				if _, err := os.Stat(filepath.Join("/dev/shm", name)); isShared && err == nil {
					t.Errorf("/dev/shm/%s is left", name)
				}
			}
		})
	}
}

// hasSegment reports whether there is a System V segment with this number.
func hasSegment(id int) bool {
	for line := range strings.Lines(leasetest.Read("/proc/sysvipc/shm")) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == strconv.Itoa(id) {
			return true
		}
	}
	return false
}
