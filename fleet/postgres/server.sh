#!/bin/sh
# server.sh [PORT]: start a PostgreSQL server on this machine, to try flock-postgres, and stop it at the end (Ctrl-C).
# It listens on 127.0.0.1, PORT (5433), keeps its data in a temporary directory, and trusts everybody. initdb and
# postgres are taken from PATH or from where Debian and others have them. initdb refuses root, who becomes the user
# nobody for it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
port=${1:-5433}
initdb=$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb 2>/dev/null |
	sort -V | tail -n 1)
bin=$(dirname "$(readlink -f "$initdb")")
[ -x "$bin/postgres" ] || {
	echo 'PostgreSQL is missing: install the package of its server (Debian: postgresql).' >&2
	exit 69
}
dir=$(mktemp -d)
pid=
stop() {
	trap '' INT TERM
	[ -z "$pid" ] || kill -INT "$pid" 2>/dev/null || :
	wait 2>/dev/null || :
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 0' INT
trap 'exit 143' TERM

as=
if [ "$(id -u)" = 0 ]; then
	chown nobody "$dir"
	as='setpriv --reuid nobody --clear-groups --'
fi
$as "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-sync >"$dir/log" 2>&1 || {
	cat "$dir/log" >&2
	exit 1
}
# Directly, so that a signal of this script reaches the server.
$as "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses=127.0.0.1 -c port="$port" >"$dir/log" 2>&1 &
pid=$!
until grep -q 'ready to accept connections' "$dir/log"; do
	kill -0 "$pid" 2>/dev/null || { # such as one whose port is taken
		tail -n 3 "$dir/log" >&2
		exit 1
	}
	sleep .1
done
export PGHOST=127.0.0.1 PGPORT="$port" PGDATABASE=postgres PGUSER=postgres
"$bin/psql" -qX -v ON_ERROR_STOP=1 --single-transaction -f "$here/schema.sql"
cat <<END
PostgreSQL is running ($("$bin/postgres" --version)), until Ctrl-C. In another terminal:

    export PGHOST=127.0.0.1 PGPORT=$port PGDATABASE=postgres PGUSER=postgres
    ./flock-postgres nightly sh -c 'echo token \$FLOCK_TOKEN; sleep 10'
    ./flock-postgres --holders nightly

The first command waits for ten seconds: the tables are new, and somebody could have a lock by older ones.

END
wait
