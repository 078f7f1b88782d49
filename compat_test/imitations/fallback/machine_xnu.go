//go:build ignore

package fallback

import "os"

// This is what macOS tells of a machine: the boot, which is IMITATE_BOOT, and its hardware. There is one pid namespace.
func askMachine() machine { return imitateMachine() }

func imitateMachine() machine {
	boot, isSet := os.LookupEnv("IMITATE_BOOT")
	if !isSet {
		boot = "this one"
	}
	return machine{boot: boot, id: "hardware", pidNS: onlyNamespace}
}
