//go:build unix

package main

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.org/flock/internal/sys"
)

// warnOfOld says once if a server is so old that it may end leases that are alive.
func (s *store) warnOfOld(ctx context.Context, warn func(string)) {
	s.versions.Do(func() {
		go func() {
			r, err := ask(ctx, s, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.StatusResponse, error) {
				return etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
			})
			if err == nil && isOld(r.Version) {
				warn("etcd " + sys.Printable(r.Version) + " can end the lock of a holder that is alive: use 3.5.13 (or 3.4.31) or later")
			}
		}()
	})
}

// isOld reports whether this is a version before 3.4.31, or of 3.5 before 3.5.13.
func isOld(version string) bool {
	var major, minor, patch int
	fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	return major == 3 && (minor < 4 || minor == 4 && patch < 31 || minor == 5 && patch < 13)
}
