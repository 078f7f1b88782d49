// The runtime would read the limits of a container at every start.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Flock-postgres runs a command under a lock that all machines of a fleet share: a row in PostgreSQL. It is the backend
// postgres of flock, with the same options, messages and exit statuses.
package main

import (
	_ "embed"
	"os"

	"example.org/flock/fleet/lease"
)

// version of the program is set by the Makefile.
var version string

//go:embed help.txt
var help string

//go:embed schema.sql
var schema string

func main() {
	lease.Main(lease.Program{
		Backend: "postgres",
		Server:  "PostgreSQL",
		Place:   "its row",
		Lease:   "its row",
		Version: version,
		Help:    help,
		Texts:   map[string]string{"schema": schema},
		Open: func(l *lease.Link) (lease.Backend, error) {
			c, err := readConfig(os.Environ())
			if err != nil {
				return nil, err
			}
			// It has a password; the command is told of the server by the other variables, if at all.
			os.Unsetenv(urlVariable)
			return newStore(c, l), nil
		},
	})
}
