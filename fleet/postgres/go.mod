module example.org/flock/fleet/postgres

go 1.26.0

require (
	example.org/flock v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/pborman/getopt/v2 v2.1.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace example.org/flock => ../..
