#!/bin/sh
# members.sh [PORT]: start three members of etcd on this machine, to try flock-etcd, and stop them at the end (Ctrl-C).
# They listen on the loopback addresses PORT, PORT+1, PORT+2 (2379) for clients, on the next three for each other, and keep
# their data in a temporary directory. etcd is taken from PATH; if it is not there, it is built from its Go module.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
port=${1:-2379}
dir=$(mktemp -d)
pids=
stop() {
	trap '' INT TERM
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || :
	wait 2>/dev/null || :
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 0' INT
trap 'exit 143' TERM

# Any etcd from 3.4 on will do; one before 3.5.13 (or 3.4.31) can end leases that are alive.
etcd=$(command -v etcd) || {
	echo 'There is no etcd in PATH: building it (a minute).' >&2
	etcd=$dir/etcd
	(cd "$here/test" && CGO_ENABLED=0 go build -o "$etcd" go.etcd.io/etcd/server/v3)
}

members=
endpoints=
for i in 0 1 2; do
	members=$members,m$i=http://127.0.0.1:$((port + 3 + i))
	endpoints=$endpoints,127.0.0.1:$((port + i))
done
for i in 0 1 2; do
	client=http://127.0.0.1:$((port + i)) peer=http://127.0.0.1:$((port + 3 + i))
	"$etcd" --name m$i --data-dir "$dir/m$i" --listen-client-urls $client --advertise-client-urls $client \
		--listen-peer-urls $peer --initial-advertise-peer-urls $peer --initial-cluster "${members#,}" \
		>"$dir/m$i.log" 2>&1 &
	pids="$pids $!"
done

i=0
for pid in $pids; do
	until grep -q 'ready to serve client requests' "$dir/m$i.log"; do
		kill -0 "$pid" 2>/dev/null || { # such as one whose port is taken
			tail -n 3 "$dir/m$i.log" >&2
			exit 1
		}
		sleep .1
	done
	i=$((i + 1))
done
case $("$etcd" --version | sed -n 's/^etcd Version: //p') in
3.[0-3].* | 3.4.[0-9] | 3.4.[12][0-9] | 3.4.30 | 3.5.[0-9] | 3.5.1[0-2])
	echo 'This etcd can end the lock of a holder that is alive: use 3.5.13 (or 3.4.31) or later.' ;;
esac
cat <<END
Three members of etcd are running ($("$etcd" --version | sed -n 1p), $etcd), until Ctrl-C. In another terminal:

    export ETCDCTL_ENDPOINTS=${endpoints#,}
    ./flock-etcd -n nightly sh -c 'echo token \$FLOCK_TOKEN; sleep 10'
    ./flock-etcd --holders nightly

END
wait
