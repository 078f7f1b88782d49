//go:build illumos || solaris

package fallback

// askMachine knows nothing: Go can ask these systems neither for a boot nor for a machine.
func askMachine() machine { return machine{pids: onlyNamespace} }
