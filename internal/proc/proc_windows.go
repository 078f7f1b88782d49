package proc

import "golang.org/x/sys/windows/registry"

// ThisMachine knows no boot: what a directory lock asks about does not outlive one.
func ThisMachine() (m Machine) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return m
	}
	defer k.Close()
	if id, _, err := k.GetStringValue("MachineGuid"); err == nil {
		m.ID = id
	}
	return m
}
