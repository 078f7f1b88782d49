//go:build dragonfly || freebsd || netbsd || openbsd

package fallback

import "golang.org/x/sys/unix"

// askMachine asks the system for a machine, but for the host and the device. These systems tell no boot. What tells one
// machine from another stands in a variable of sysctl(8), which depends on the system and may be missing: whole
// clusters are called "localhost".
func askMachine() machine {
	m := machine{pidNS: onlyNamespace}
	// On FreeBSD, OpenBSD and NetBSD, in this order.
	for _, variable := range []string{"kern.hostuuid", "hw.uuid", "machdep.dmi.system-uuid"} {
		if id, err := unix.Sysctl(variable); err == nil && id != "" {
			m.id = id
			break
		}
	}
	return m
}
