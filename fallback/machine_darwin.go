package fallback

import "golang.org/x/sys/unix"

// askMachine asks the system for a machine, but for the host and the device. It has nothing simple for the machine
// itself.
func askMachine() machine {
	boot, _ := unix.Sysctl("kern.bootsessionuuid") // made at boot
	return machine{boot: boot, pids: onlyNamespace}
}
