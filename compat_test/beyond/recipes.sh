Recipes of the manual that need what the reference does not have, or that end processes.

### recipe-a-time-limit
# needs: timeout

# the children that ignore the signal are killed, too, and the lock is free; 137 is the status of GNU, 124 of BSDs
flock f timeout -k .3 .2 sh -c 'trap "" TERM; sleep 100 & sleep 100'; status=$?
case $status in 124 | 137) echo over ;; *) echo $status ;; esac
#> over
flock -w 20 f echo free
#> free
flock f timeout -k 10 .2 sh -c 'sleep 100 & sleep 100'; echo $?
#> 124
flock -w 20 f echo free
#> free

### recipe-tries-at-random-moments
hold f
for try in 1 2 3; do
	flock -n -E 75 f true; status=$?
	[ $status -eq 75 ] || break
	[ $try -lt 2 ] || release
	sleep "$(awk -v seed=$$$try 'BEGIN { srand(seed); print int(rand() * 2) }')"
done
echo $try $status
#> 3 0

### recipe-a-file-for-a-group
# needs: root setpriv
# kernel: the directory lock must be able to write beside it
for i in 1 2; do (umask 027; : >>team.lock && chgrp 4 team.lock); done
ls -ln team.lock | awk '{print $1, $3, $4}'
#> -rw-r----- 0 4
setpriv --reuid 65534 --regid 65534 --groups 4 flock team.lock echo in
#> in
setpriv --reuid 65534 --regid 65534 --clear-groups flock team.lock echo no; echo $?
#> flock: cannot open lock file team.lock: Permission denied
#> 66

### recipe-a-notice-that-a-turn-was-skipped
# needs: proc
logger() { sed "s/^/$2: /; s/process [0-9]* /process N /; s/for [0-9]* s/for N s/" >>log; }
echo ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock -F f sh job.sh & holder=$!
await '[ -e has ]'
flock -n --report 0 f sh job.sh 2>&1 | logger -t sync
cat log
#> sync: flock: f is held by process N (sh job.sh), running for N s
announce go; wait $holder

### recipe-requests-become-one-more-run

# each run reads what there is, and none is forgotten
hold f
for i in 1 2 3 4 5; do
	echo request $i >>todo
	flock --queue 1 -E 0 f sh -c 'cat todo; : >todo' & [ $i -gt 1 ] || await 'placed $!'
done
release; wait
#> request 1
#> request 2
#> request 3
#> request 4
#> request 5

### recipe-debounce
# needs: linux own-path
# kernel: the tickets are bytes of the file

# its sleep ends when the case says so
printf '#!/bin/sh\n: >asleep; until [ -e end ]; do read _ <../wake.end || exit; done\n' >sleep
printf '#!/bin/sh\necho run >>log; : >up; until [ -e go ]; do read _ <../wake.go || exit; done\n' >job
chmod +x sleep job
PATH=$PWD:$PATH
event() {
	flock --replace -E 99 quiet.lock sleep 2 &&
		flock --queue 1 -E 0 job.lock ./job
}
event 2>err & first=$!
await '[ -e asleep ]'; rm asleep
event & second=$!
wait $first; echo $?; cat err
#> 99
#> flock: quiet.lock: replaced by a newer run
await '[ -e asleep ]'; [ ! -e log ] || echo too early
announce end; await '[ -e up ]'
# a job that runs is not cut off, and events meanwhile lead to one more run
event & third=$!
await 'waiting job.lock'
event; echo $?
#> 0
cat log
#> run
announce go; wait $second $third; echo $?; cat log
#> 0
#> run
#> run

### recipe-writers-that-readers-starve

# the turnstile of the manual: a reader that comes after the writer is after it
flock turn true && flock -s data sh -c ': >reads; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e reads ]'
flock turn flock data sh -c 'echo writer >>order' &
await 'waiting data'
(flock turn true && flock -s data sh -c 'echo reader >>order') &
await 'waiting turn'
announce go; wait; cat order
#> writer
#> reader

### recipe-several-locks
flock -w 60 f flock -w 60 g sh -c 'exit 7'; echo $?
#> 7
hold g
flock -w 60 f flock -n -E 75 g true; echo $?
#> 75
flock -n f echo the outer lock is free
#> the outer lock is free
release

### recipe-a-lock-beside-a-process
# needs: linux
cat >beside <<'END'
h=$(flock -nF l sh -c 'echo $$
	exec tail --pid="$1" -f /dev/null >/dev/null 2>&1 </dev/null' sh $$ &)
[ "$h" ] || { echo refused; exit 1; }
flock -n l true; echo $?
sh beside
[ "$1" ] || kill "$h"
END
sh beside
#> 1
#> refused
flock -w 20 l echo given back
#> given back
# it ends with its script
sh beside not
#> 1
#> refused
flock -w 20 l echo free
#> free

### recipe-a-lock-beside-a-process-in-fish
# needs: linux fish
cat >beside <<'END'
set h (sh -c 'echo $(flock -nF l sh -c \'echo $$
	exec tail --pid="$1" -f /dev/null >/dev/null 2>&1 </dev/null\' sh "$1" &)' sh $fish_pid)
test -n "$h"; or begin; echo refused; exit 1; end
flock -n l true; echo $status
fish beside
kill $h
END
fish beside
#> 1
#> refused
flock -w 20 l echo given back
#> given back

### recipe-an-alarm
# needs: linux proc
hold f
for age in 3600 -1; do
	flock --holders f |
		awk '$1 != "-" && $3 != "(waiting)" { print $1 }' |
		while read -r pid; do ps -o etimes=,pid=,args= -p "$pid" || :; done |
		awk '$1 > '$age' { print "seconds, process, command: " $0 }' | grep -c 'command: .* sh -c'
done
#> 0
#> 2
release

### recipe-two-permits-of-four
# needs: linux
(
	flock 9 && flock --permits 4 8 && flock --permits 4 7 && flock -u 9 || exit
	: >has; until [ -e end ]; do read _ <../wake.end || exit; done
) 9>gate 8<>cpu 7<>cpu &
await '[ -e has ]'
hold --permits 4 cpu
hold --permits 4 cpu
flock -n --permits 4 cpu true; echo $?
#> 1
flock -n gate echo the gate is open
#> the gate is open
announce end; release; wait
flock -w 20 cpu echo free
#> free

### recipe-a-place-in-line
hold f
flock -F f sh -c 'echo $$ >turn.pid; exec sleep 3600' >/dev/null 2>&1 </dev/null &
await 'waiting f'
[ -s turn.pid ] || echo not yet
#> not yet
release
await '[ -s turn.pid ]'
flock -n f true; echo $?
#> 1
kill "$(cat turn.pid)"; wait
flock -w 20 f echo free
#> free

### recipe-wait-for-apt
# needs: python3 ofd
# kernel: apt uses kernel locks
python_holds 'lockf(f, fcntl.LOCK_EX)'
flock --fcntl -n f true; echo $?
#> 1
release
flock --fcntl -w 60 f true && echo install
#> install
