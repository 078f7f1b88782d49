package fallback

import "golang.org/x/sys/windows/registry"

// askMachine asks the system for a machine, but for the host. It knows no boot: lifelines do not outlive one.
func askMachine() machine {
	m := machine{pidNS: onlyNamespace}
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return m
	}
	defer k.Close()
	m.id, _, _ = k.GetStringValue("MachineGuid")
	return m
}
