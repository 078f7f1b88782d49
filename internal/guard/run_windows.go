package guard

import "example.org/flock/internal/failure"

// Windows has no guards: package cli refuses the options.

// Begin does nothing.
func Begin() {}

// Check returns an error: there is no guard on Windows.
func Check() error {
	return failure.Usage("this system cannot end a command with its descendants")
}

// Run fails.
func (c Command) Run() (status int, err error) { return 0, Check() }
