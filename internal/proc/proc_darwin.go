package proc

import "golang.org/x/sys/unix"

func ThisMachine() Machine {
	// A UUID made at boot. The system has nothing as simple for the machine itself.
	boot, _ := unix.Sysctl("kern.bootsessionuuid")
	return Machine{Boot: boot}
}
