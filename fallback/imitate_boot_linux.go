//go:build imitate_boot

package fallback

import "os"

// This is macOS after a restart: IMITATE_BOOT is the boot. The machine is known by its hardware, and there is one pid
// namespace.
func init() { askSystem = imitateBoot }

func imitateBoot() machine {
	m := askMachine()
	if boot, isSet := os.LookupEnv("IMITATE_BOOT"); isSet {
		m.boot, m.id, m.pids = boot, "hardware", onlyNamespace
	}
	return m
}
