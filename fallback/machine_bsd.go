//go:build dragonfly || freebsd || illumos || netbsd || openbsd || solaris

package fallback

// askMachine knows nothing: these systems tell neither a boot nor a machine.
func askMachine() machine { return machine{pids: onlyNamespace} }
