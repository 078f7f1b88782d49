// The runtime would read the limits of a container at every start.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Flock-etcd runs a command under a lock that all machines of a fleet share: a key in etcd. It is the backend etcd of
// flock, with the same options, messages and exit statuses.
package main

import (
	_ "embed"
	"io"
	"os"

	"google.golang.org/grpc/grpclog"

	"example.org/flock/fleet/lease"
)

// version is set by the Makefile.
var version string

//go:embed help.txt
var help string

func main() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // what grpc would say to the user
	lease.Main(lease.Program{
		Backend: "etcd",
		Server:  "etcd",
		Place:   "its key or its lease",
		Lease:   "its lease",
		Version: version,
		Help:    help,
		Open: func(l *lease.Link) (lease.Backend, error) {
			c, err := readConfig(os.Environ())
			if err != nil {
				return nil, err
			}
			c.hidePassword()
			if at := c.exposedAddress(); at != "" {
				l.Note("the password of " + c.user + " goes to " + at + " without encryption\nsee ETCDCTL_CACERT")
			}
			return newStore(c, l), nil
		},
	})
}
