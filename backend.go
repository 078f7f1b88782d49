package main

import (
	"os"
	"path/filepath"
	"strings"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/command"
	"example.org/flock/internal/cstart"
	"example.org/flock/internal/sys"
)

// execBackend replaces this process by the program of a backend that flock does not know, with the same words. It
// returns only an error.
func execBackend(o *cli.Options, args []string) error {
	program := "flock-" + o.BackendName
	if cstart.IsSetUserID() {
		return o.InvalidBackend("; a set-user-id or set-group-id flock runs no " + program)
	}
	dir, places := "", "PATH" // where it is looked for: beside this program, too, if that knows where it is
	if self, err := os.Executable(); err == nil {
		dir = filepath.Dir(self)
		places = sys.Printable(dir) + " or in PATH"
	}
	path := command.Find(program, dir)
	if path != "" && path == args[0] { // this process was started by the path: it would execute itself for ever
		return o.InvalidBackend("; " + program + " is flock itself")
	}
	if path != "" {
		return command.Exec(append([]string{path}, args[1:]...))
	}
	missing := o.InvalidBackend("; there is no " + program + " in " + places)
	if there := command.Backends(dir, cli.IsForProgram); len(there) > 0 {
		missing.Hint = "there are programs for: " + strings.Join(there, ", ")
	}
	return missing
}
