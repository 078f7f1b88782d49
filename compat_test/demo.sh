#!/bin/sh
# Shows the main uses of flock. The first argument is the binary.
set -u
flock=${1:-./flock}
flock=$(cd "$(dirname "$flock")" && pwd)/$(basename "$flock")
here=$PWD
dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"' EXIT
ln -s "$flock" flock
PATH=$dir:$PATH
await() { until eval "$1"; do sleep .01; done; }

echo "A cron job that is started again while it still runs:"
cat >script.sh <<'END'
#!/bin/sh
echo "  script.sh runs"; : >running
until [ -e finish ]; do sleep .01; done
END
chmod +x script.sh
flock -n job.lock ./script.sh & first=$!
await '[ -e running ]'
flock -n job.lock ./script.sh; echo "  second start: exit status $?"
: >finish
wait $first; echo "  first start: exit status $?"
rm running finish

echo "A script that locks itself (the FLOCKER header):"
cat >self.sh <<'END'
#!/bin/sh
[ "${FLOCKER:-}" != "$0" ] && exec env FLOCKER="$0" flock -en "$0" "$0" "$@" || :
echo "  self.sh runs"; : >running
until [ -e finish ]; do sleep .01; done
END
chmod +x self.sh
./self.sh & first=$!
await '[ -e running ]'
./self.sh; echo "  second start: exit status $?"
: >finish
wait $first; echo "  first start: exit status $?"
rm running finish

echo "The same by a descriptor (exec 9<\"\$0\"; flock -n 9):"
cat >descriptor.sh <<'END'
#!/bin/sh
exec 9<"$0"
flock -n 9 || { echo "  already running"; exit 1; }
echo "  descriptor.sh runs"; : >running
until [ -e finish ]; do sleep .01; done
END
chmod +x descriptor.sh
./descriptor.sh & first=$!
await '[ -e running ]'
./descriptor.sh; echo "  second start: exit status $?"
: >finish
wait $first; echo "  first start: exit status $?"

echo "Four workers drain a queue of 40 tasks (flock 9 ... flock -u 9):"
seq 40 >queue
worker() {
	exec 9>queue.lock
	while flock 9 && IFS= read -r task <queue; do
		tail -n +2 queue >queue.new && mv queue.new queue
		flock -u 9
		echo "$task" >>"done.$1"
	done
	flock -u 9
}
for n in 1 2 3 4; do worker $n & done
wait
for n in 1 2 3 4; do
	[ ! -e done.$n ] || echo "  worker $n did $(($(wc -l <done.$n)))"
done
twice=$(($(sort done.* | uniq -d | wc -l))) all=$(($(cat done.* | wc -l)))
echo "  $all done, $twice twice"
[ "$all" = 40 ] && [ "$twice" = 0 ] || exit 1

echo 'Six jobs, two at a time (flock --permits 2 LOCK job):'
cat > job.sh <<'END'
printf '+\n' >> log
until [ -e go ]; do sleep 0.01 3>&-; done
printf -- '-\n' >> log
END
pids=
for i in 1 2 3 4 5 6; do flock --permits 2 permits sh job.sh & pids="$pids $!"; done
until [ "$(grep -c + log 2>/dev/null)" = 2 ]; do sleep 0.01; done
echo '  flock --holders LOCK says:'
flock --holders permits 2>&1 | sed -n '/flock --permits/!s/^/    /p'
touch go
for pid in $pids; do wait "$pid"; done
awk '$1 == "+" && ++n > most { most = n } $1 == "-" { n-- } END { print "  most at once: " most; exit most != 2 }' log

echo 'A job that runs too long (flock --limit 1 LOCK sleep 60):'
flock --limit 1 limit.lock sleep 60 2>&1 | sed 's/^/  /'

echo 'At most once in ten minutes (flock -n --cooldown 600 LOCK job):'
for i in 1 2 3; do flock -n --cooldown 600 alert.lock echo "  call $i runs"; done

echo 'Ten requests during a reload (flock --queue 1 LOCK reload), and who has the lock (flock -n --report 0 LOCK job):'
cat >reload.sh <<'END'
#!/bin/sh
: >>begun; until [ -e reloaded ]; do sleep .01; done; echo >>reloads
END
chmod +x reload.sh
flock reload.lock ./reload.sh & reloads=$!
await '[ -e begun ]'
flock -n --report 0 reload.lock true 2>&1 | sed 's/^/  /'
for i in 1 2 3 4 5 6 7 8 9 10; do
	(flock --queue 1 -E 0 reload.lock ./reload.sh; echo >>answers) & reloads="$reloads $!"
done
await '[ "$(cat answers 2>/dev/null | wc -l)" -ge 9 ]' # ten where --queue is refused: on Linux without /proc
echo "  $(($(wc -l <answers))) of ten requests have ended before the reload"
: >reloaded
for pid in $reloads; do wait "$pid"; done
echo "  reloads, with the first one: $(($(wc -l <reloads)))"

echo
echo "Next: $flock --help; man $here/man/flock.1; sudo make install"
