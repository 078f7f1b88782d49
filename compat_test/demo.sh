#!/bin/sh
# Shows the main job: usage is demo.sh FLOCK, the binary to show it with.
set -eu
command -v bash >/dev/null || { echo "demo: needs bash for the script header" >&2; exit 1; }
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
ln -s "$bin" "$dir/bin/flock"
PATH=$dir/bin:$PATH
cd "$dir"

say() { printf '\n== %s\n' "$*"; }
await() { until [ -e "$1" ]; do sleep 0.01; done; }

say "$(flock --version)"

say 'Two runs from a crontab: flock -n LOCK ./script.sh'
mkfifo finish
cat > script.sh <<'END'
#!/bin/sh
echo "script.sh runs as process $$"
touch started
read line < finish
END
chmod +x script.sh
flock -n lock ./script.sh & first=$!
await started
status=0
flock -n lock ./script.sh || status=$?
echo "the second run, while the first still runs: exit status $status"
echo done > finish
wait $first
echo "the first run: exit status $?"

say 'A script that locks itself with the FLOCKER header, started twice'
cat > self.sh <<'END'
#!/bin/bash
[ "${FLOCKER}" != "$0" ] && exec env FLOCKER="$0" flock -en "$0" "$0" "$@" || :
echo "self.sh runs as process $$"
touch self-started
read line < finish
END
chmod +x self.sh
./self.sh & first=$!
await self-started
status=0
./self.sh || status=$?
echo "the second run: exit status $status"
echo done > finish
wait $first

say 'A script that locks itself with exec 9<"$0"; flock -n 9'
cat > number.sh <<'END'
#!/bin/bash
exec 9<"$0"
flock -n 9 || { echo "another one is running"; exit 1; }
echo "number.sh runs as process $$"
[ "${1-}" = inner ] || "$0" inner || echo "the second run: exit status $?"
END
chmod +x number.sh
./number.sh

say 'Four workers drain a queue of 40 tasks with flock 9 and flock -u 9'
seq 40 > queue
cat > worker.sh <<'END'
exec 9>>queue.lock
while :; do
	flock 9
	task=$(head -n 1 queue)
	sed -i 1d queue
	flock -u 9
	[ -n "$task" ] || exit 0
	echo "$task $1" >> taken
done
END
pids=
for i in 1 2 3 4; do sh worker.sh $i & pids="$pids $!"; done
for pid in $pids; do wait $pid; done
cut -d' ' -f2 taken | sort | uniq -c | while read -r n worker; do echo "worker $worker took $n tasks"; done
echo "tasks taken: $(wc -l < taken), different ones: $(cut -d' ' -f1 taken | sort -u | wc -l)"
[ "$(cut -d' ' -f1 taken | sort -n | tr '\n' ' ')" = "$(seq 40 | tr '\n' ' ')" ] || {
	echo "demo: a task was lost or taken twice" >&2
	exit 1
}
