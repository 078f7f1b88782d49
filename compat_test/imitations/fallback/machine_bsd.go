//go:build ignore

package fallback

// This is what FreeBSD tells of a machine: its hardware, and no boot.
func askMachine() machine { return imitateMachine() }

func imitateMachine() machine { return machine{id: "hardware", pidNS: onlyNamespace} }
