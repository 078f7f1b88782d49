Scripts as users write them.

### cron-overlap
cat >job.sh <<'END'
#!/bin/sh
echo started >>log
until [ -e go ]; do read _ <../wake.go || exit; done
echo finished >>log
END
chmod +x job.sh
flock -n job.lock ./job.sh &
await '[ -s log ]'
flock -n job.lock ./job.sh; echo "second: $?"
announce go
wait $!; echo "first: $?"
cat log
#> second: 1
#> first: 0
#> started
#> finished

### cron-overlap-c
flock -n job.lock -c 'echo started; echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo finished' &
await '[ -e held ]'
flock -n job.lock -c 'echo never'; echo "second: $?"
announce go
wait $!; echo "first: $?"
flock -n job.lock -c 'echo third'
#> started
#> second: 1
#> finished
#> first: 0
#> third

### cron-overlap-with-or
hold job.lock
flock -n job.lock echo never || echo "already running"
release
flock -n job.lock echo now || echo "already running"
#> already running
#> now

### cron-conflict-told-from-failure
flock -n -E 75 job.lock false; echo $?
hold job.lock
flock -n -E 75 job.lock false; echo $?
release
#> 1
#> 75

### flocker-header
cat >job.sh <<'END'
#!/bin/sh
[ "${FLOCKER}" != "$0" ] && exec env FLOCKER="$0" flock -en "$0" "$0" "$@" || :
echo "running with $*"
[ -z "$1" ] || until [ -e go ]; do read _ <../wake.go || exit; done
END
chmod +x job.sh
./job.sh a b >out &
await '[ -s out ]'
./job.sh c; echo "second: $?"
announce go
wait $!; echo "first: $?"
cat out
./job.sh; echo "third: $?"
#> second: 1
#> first: 0
#> running with a b
#> running with 
#> third: 0

### flocker-header-that-no-child-keeps
cat >job.sh <<'END'
#!/bin/sh
[ "${FLOCKER}" != "$0" ] && exec env FLOCKER="$0" flock $option "$0" "$0" "$@" || :
(: >started; until [ -e go ]; do read _ <../wake.go || exit; done) &
END
chmod +x job.sh
for option in -en -eno; do
	export option
	./job.sh; await '[ -e started ]'; rm started
	flock -n job.sh echo free; echo $?
	announce go; flock job.sh true; rm go
done
#> 1
#> free
#> 0

### self-lock-with-a-descriptor
cat >job.sh <<'END'
#!/bin/sh
exec 9<"$0"
flock -n 9 || { echo "already running"; exit 1; }
echo started
until [ -e go ]; do read _ <../wake.go || exit; done
END
chmod +x job.sh
./job.sh >out &
await '[ -s out ]'
./job.sh; echo "second: $?"
announce go
wait $!; echo "first: $?"
./job.sh; echo "third: $?"
#> already running
#> second: 1
#> first: 0
#> started
#> third: 0

### self-lock-by-bash-source
cat >job.sh <<'END'
exec {fd}<"${BASH_SOURCE[0]}"
flock -n "$fd" || exit 3
[ -e nested ] || { touch nested; bash job.sh; echo "nested: $?"; }
END
bash job.sh
#> nested: 3

### critical-section
(
	flock -n 9 || exit 1
	echo inside
	flock -n lock true; echo $?
) 9>lock
flock -n lock echo after
#> inside
#> 1
#> after

### critical-section-refused
hold lock
(
	flock -n 9 || exit 17
	echo inside
) 9>lock
echo $?
release
#> 17

### critical-section-waits
exec 9>lock
flock 9
(
	flock -x -w 20 8 || exit 1
	echo second
) 8>lock &
await asleep
echo first
flock -u 9
wait $!
#> first
#> second

### critical-section-counter
echo 0 >count
worker() {
	for i in 1 2 3 4 5; do
		(
			flock 9
			read -r n <count
			echo $((n + 1)) >count
		) 9>lock
	done
}
worker & worker & worker & worker &
wait
cat count
#> 20

### function-with-a-lock
with_lock() (
	exec 9>"$1"
	shift
	flock -w 20 9 || return 1
	"$@"
)
with_lock l echo hi
with_lock l sh -c 'flock -n l true'; echo $?
#> hi
#> 1

### queue-of-four-workers
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "task $i"; done >queue
worker() {
	exec 9>queue.lock
	while :; do
		flock 9
		IFS= read -r task <queue || break
		tail -n +2 queue >queue.new && mv queue.new queue
		flock -u 9
		echo "$task" >>done.$1
	done
	flock -u 9
}
worker 1 & worker 2 & worker 3 & worker 4 &
wait
sort -k 2n done.* | uniq -c | awk '{ print $1, $2, $3 }'
#> 1 task 1
#> 1 task 2
#> 1 task 3
#> 1 task 4
#> 1 task 5
#> 1 task 6
#> 1 task 7
#> 1 task 8
#> 1 task 9
#> 1 task 10
#> 1 task 11
#> 1 task 12
#> 1 task 13
#> 1 task 14
#> 1 task 15
#> 1 task 16
#> 1 task 17
#> 1 task 18
#> 1 task 19
#> 1 task 20

### readers-and-a-writer
echo old >data
(
	flock -s 8
	cat data
	flock -n -x lock true; echo $?
	flock -n -s lock cat data
) 8>lock
flock -x lock sh -c 'echo new >data'
flock -s lock cat data
#> old
#> 1
#> old
#> new

### upgrade-then-write
exec 9>lock
flock -s 9
[ -e cache ] || { flock -x 9; echo built >cache; }
flock -u 9
cat cache
#> built

### exported-function
work() { echo "working on $1"; flock -n lock true; echo $?; }
export -f work
flock lock bash -c 'work "$1"' _ one
SHELL=$(command -v bash) flock lock -c 'work two'
#> working on one
#> 1
#> working on two
#> 1

### server-started-with-o
cat >server.sh <<'END'
echo up >up
until [ -e go ]; do read _ <../wake.go || exit; done
END
flock -o -n lock sh -c 'sh server.sh & until [ -e up ]; do sleep .01; done'; echo $?
flock -n lock echo "lock is free"; echo $?
announce go
#> 0
#> lock is free
#> 0

### server-started-without-o
cat >server.sh <<'END'
echo up >up
until [ -e go ]; do read _ <../wake.go || exit; done
END
flock -n lock sh -c 'sh server.sh & until [ -e up ]; do sleep .01; done'; echo $?
flock -n lock echo "lock is free"; echo $?
announce go
await 'flock -n lock true'
echo "free at last"
#> 0
#> 1
#> free at last

### server-closes-the-descriptor-itself
# needs: proc
flock -n lock sh -c '{ echo >up; until [ -e go ]; do read _ <../wake.go || exit; done; } 3>&- & until [ -e up ]; do sleep .01; done'; echo $?
flock -n lock echo "lock is free"; echo $?
announce go
#> 0
#> lock is free
#> 0

### pid-in-the-lock-file
exec 9>>lock
flock -n 9 && echo $$ >lock
[ "$(cat lock)" = $$ ]; echo $?
flock -n lock true; echo $?
#> 0
#> 1

### lock-directory-while-syncing
mkdir tree
flock tree sh -c 'echo one >tree/a; flock -n tree true; echo $?'
ls tree
#> 1
#> a

### timeout-and-message
hold lock
if flock -w .05 lock true; then echo got it; else echo "gave up: $?"; fi
release
#> gave up: 1

### trap-removes-the-lock-file
bash -c 'exec 9>lock; flock -n 9 || exit 1; trap "rm -f lock" EXIT; echo working'
ls
#> working

### find-exec
touch a.txt b.txt c.txt
find . -name '*.txt' -exec flock lock basename {} \; | sort
#> a.txt
#> b.txt
#> c.txt

### xargs-parallel
seq 1 8 | xargs -P 4 -I{} flock lock bash -c 'mkdir place || echo two; echo {} >>out; rmdir place'
sort -n out | tr '\n' ' '
#> 1 2 3 4 5 6 7 8 
#\ no newline at the end

### make-like-log
for i in 1 2 3; do
	{ for j in 1 2 3 4; do flock log.lock sh -c "echo begin $i.$j >>log; echo end $i.$j >>log"; done; } &
done
wait
paste - - <log | awk '$2 != $4' | wc -l | tr -d ' '
wc -l <log | tr -d ' '
#> 0
#> 24

### set-e
bash -c 'set -e; flock -n lock true; echo one; flock -n lock false; echo two'; echo $?
#> one
#> 1

### pipeline
printf 'c\na\nb\n' | flock lock sort | tr '\n' ' '
#> a b c 
#\ no newline at the end

### here-document
flock lock cat <<END
one
two
END
#> one
#> two

### while-read
printf '1\n2\n3\n' | while read -r n; do flock lock echo "n=$n"; done
#> n=1
#> n=2
#> n=3

### nohup-background
nohup flock -n lock sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' >/dev/null 2>&1 &
await '[ -e held ]'
flock -n lock true; echo $?
announce go
wait $!; echo $?
#> 1
#> 0

### setsid-daemon
# needs: setsid
setsid flock -n lock sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e held ]'
flock -n lock true; echo $?
announce go
await 'flock -n lock true'
echo free
#> 1
#> free

### coproc-locker
coproc flock lock sh -c 'echo locked; read line; echo "bye $line"'
pid=$COPROC_PID
exec 5<&"${COPROC[0]}" 6>&"${COPROC[1]}"
read -r answer <&5; echo "$answer"
flock -n lock true; echo $?
echo now >&6
read -r answer <&5; echo "$answer"
wait "$pid"
flock -n lock echo free
#> locked
#> 1
#> bye now
#> free

### dpkg-like-two-locks
exec 8>frontend 9>backend
flock -n 8 && flock -n 9 && echo both
flock -n frontend true || flock -n backend true || echo neither
#> both
#> neither

### sudo-like-wrapper
cat >wrapper <<'END'
#!/bin/sh
exec flock -F lock "$@"
END
chmod +x wrapper
./wrapper sh -c 'flock -n lock true; echo $?'
./wrapper sh -c 'exit 12'; echo $?
#> 1
#> 12

### ssh-like-stdin-kept
printf 'one\ntwo\n' | { flock lock dd bs=4 count=1 >/dev/null 2>&1; cat; }
#> two

### time-limited-command
# needs: timeout
flock lock timeout .2 sh -c 'until [ -e never ]; do sleep .01; done'; echo $?
await 'flock -n lock true'
echo free
#> 124
#> free

### timeout-around-flock
# needs: timeout
timeout 20 flock lock sh -c 'exit 9'; echo $?
#> 9

### exec-flock-from-a-script
bash -c 'exec flock lock sh -c "exit 21"'; echo $?
#> 21

### lock-then-exec
bash -c 'exec 9>lock; flock -n 9; exec sh -c "flock -n lock true; echo \$?"'
#> 1

### background-job-holds-descriptor
exec 9>lock
flock 9
sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done' &
exec 9>&-
flock -n lock true; echo $?
announce go
wait
flock -n lock true; echo $?
#> 1
#> 0

### shell-loop-trylock
hold lock
tries=0
until flock -n lock echo got it; do
	tries=$((tries + 1))
	[ $tries -lt 3 ] || release
done
echo "$tries"
#> got it
#> 3

### descriptor-moved-while-a-function-has-another
exec 9>lock
flock 9
f() { flock -n lock echo in; echo $?; }
f 9>&-
{ flock -n lock echo in; echo $?; } 9>other
flock -u 9
flock -n lock echo free
#> 1
#> 1
#> free

### locked-in-a-subshell-that-outlives-the-script
bash -c 'exec 9>lock; ( flock -n 9; echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; flock -u 9; echo >done ) & exit'
await '[ -e held ]'
flock -n lock echo in; echo $?
announce go
await '[ -e done ]'
flock -n lock echo free
#> 1
#> free

### locked-twice-by-one-shell
exec 9>lock
flock 9; flock 9; flock -s 9; flock -s 9; flock 9
flock -n lock echo in; echo $?
flock -u 9
flock -n lock echo free
#> 1
#> free
