module example.org/flock

go 1.26.0

require (
	github.com/pborman/getopt/v2 v2.1.0
	golang.org/x/sys v0.49.0
)
