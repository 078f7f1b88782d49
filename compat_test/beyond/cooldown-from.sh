--cooldown-from start|end|success: what a cooldown is counted from.

### cooldown-from-start-hourly-job

# The end of the job does not move the end of the cooldown.
flock --cooldown 600 --cooldown-from start f bash -c 'mtime f; sleep .02' >start; echo $?
#> 0
[ "$(cat start)" = "$(mtime f)" ] && echo counted from the start
#> counted from the start
flock -n --cooldown 600 --cooldown-from start f echo in; echo $?
#> 1

### cooldown-from-start-a-job-longer-than-the-cooldown

# The next run can begin at once.
flock --cooldown .05 --cooldown-from start f sleep .1
flock -n --cooldown .05 --cooldown-from start f echo in
#> in

### cooldown-from-start-while-it-runs
flock --cooldown .01 --cooldown-from start f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' & first=$!
await '[ -e has ] && [[ $(mtime f) < $EPOCHREALTIME ]]'
flock -n -E 75 --cooldown .01 --cooldown-from start f echo in; echo $?
#> 75
flock -w 20 --cooldown 600 --cooldown-from start f echo second & second=$!
announce go; wait $first $second
#> second
flock -n --cooldown 600 --cooldown-from start f echo in; echo $?
#> 1

### cooldown-from-start-killed
flock --cooldown 600 --cooldown-from start f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
mtime f >start
kill -9 $! $(cat pid); wait $!
await 'flock -n f true'
flock -n --cooldown 600 --cooldown-from start f echo in; echo $?
#> 1
[ "$(cat start)" = "$(mtime f)" ] && echo counted from the start
#> counted from the start

### cooldown-from-start-no-fork
flock -F --cooldown 600 --cooldown-from start f bash -c 'mtime f; sleep .02' >start
[ "$(cat start)" = "$(mtime f)" ] && echo counted from the start
#> counted from the start
for from in end success; do
	flock -F --cooldown 600 --cooldown-from $from g echo in; echo $?
done
#> flock: --cooldown-from end or success cannot be combined with --no-fork: nobody would be left to see the end
#> 64
#> flock: --cooldown-from end or success cannot be combined with --no-fork: nobody would be left to see the end
#> 64
[ -e g ] || echo nothing was made
#> nothing was made

### cooldown-from-start-number
exec 9>>f
flock --cooldown 600 --cooldown-from start 9; echo $?
#> 0
flock -u 9
flock -n --cooldown 600 --cooldown-from=start f -c 'echo in'; echo $?
#> 1
exec 8>>g
flock --cooldown 600 --cooldown-from success 8; echo $?
#> flock: --cooldown-from end or success cannot be combined with a descriptor number alone: they need a command
#> 64
flock --cooldown 600 --cooldown-from success --fd 8 false; echo $?
#> 1
flock -u 8
flock -n --cooldown 600 g echo in
#> in

### cooldown-from-start-command-not-found
# needs: own-path
flock --cooldown 600 --cooldown-from start f ./missing 2>/dev/null; echo $?
#> 69
flock -n --cooldown 600 f echo in
#> in

### cooldown-from-end
flock --cooldown 600 --cooldown-from start --cooldown-from end f bash -c 'mtime f; sleep .02' >start # the last one counts
[ "$(cat start)" != "$(mtime f)" ] && echo set again
#> set again
flock -n --cooldown 600 --cooldown-from end f echo in; echo $?
#> 1
touch f
flock --cooldown 600 --cooldown-from end f false
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-from-success-once-a-day-and-again-after-a-failure
cat >job <<'END'
n=$(($(cat n 2>/dev/null) + 1)); echo $n >n
[ $n -ge 3 ] && echo done || { echo failed; exit 3; }
END
for hour in 1 2 3 4 5; do
	flock -n -E 75 --cooldown 86400 --cooldown-from success f sh job; echo $?
done
#> failed
#> 3
#> failed
#> 3
#> done
#> 0
#> 75
#> 75

### cooldown-from-success-counts-from-the-end
flock --cooldown 600 --cooldown-from success f bash -c 'mtime f; sleep .02' >start
[ "$(printf '%s\n' "$(cat start)" "$(mtime f)" | sort -n | head -1)" = "$(cat start)" ] && echo moved on
#> moved on

### cooldown-from-success-one-who-waits
# needs: proc

# There is no cooldown before a success, so it waits for the lock.
flock --cooldown 600 --cooldown-from success f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done; exit 1' & first=$!
await '[ -e has ]'
flock -w 100 --cooldown 600 --cooldown-from success f echo again >out & second=$!
await 'waiting f'
flock --holders f | grep -c "^- *cooldown"
#> 0
flock -n --cooldown 600 --cooldown-from success f echo in; echo $?
#> 1
announce go; wait $first; echo $?
#> 1
wait $second; cat out
#> again

### cooldown-from-success-many-at-once
echo 0 >n
cat >job <<'END'
n=$(($(cat n) + 1)); echo $n >n
[ $n -ge 3 ] || exit 1
: >done
END
for i in 1 2 3 4 5 6; do
	until [ -e done ]; do flock -n --cooldown 600 --cooldown-from success f sh job; sleep .01; done &
done
wait
flock -n --cooldown 600 --cooldown-from success f sh job; echo $?
#> 1
cat n
#> 3

### cooldown-from-success-command-killed
flock --cooldown 600 --cooldown-from success f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $(cat pid)
wait $!; echo $?
#> 137
flock -n --cooldown 600 --cooldown-from success f echo in
#> in

### cooldown-from-success-both-killed

# It has not succeeded, so the next one runs.
flock --cooldown 600 --cooldown-from success f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $! $(cat pid); wait $!
await 'flock -n f true'
flock -n --cooldown 600 --cooldown-from success f echo in
#> in

### cooldown-from-success-both-terminated
# needs: timeout
timeout .5 flock --cooldown 600 --cooldown-from success f sleep 100; echo $?
#> 124
await 'flock -n f true'
flock -n --cooldown 600 --cooldown-from success f echo in
#> in

### cooldown-from-success-flock-killed
flock --cooldown 600 --cooldown-from success f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done; exit 1' &
await '[ -e has ]'
kill -9 $!; wait $!
announce go
await 'flock -n f true'
flock -n --cooldown 600 --cooldown-from success f echo in
#> in

### cooldown-from-success-limit
# needs: proc
flock --limit .05 --cooldown 600 --cooldown-from success f sleep 100; echo $?
#> flock: sleep exceeded its limit of 0.05 s; terminating it
#> 124
flock -n --limit 100 --cooldown 600 --cooldown-from success f echo in
#> in
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-from-success-terminated-with-a-limit
# needs: proc
flock --limit 100 --cooldown 600 --cooldown-from success f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill $!; wait $!; echo $?
#> 143
flock -n --cooldown 600 --cooldown-from success f echo in
#> in

### cooldown-from-refused
# needs: linux
flock --cooldown-from start f echo in; echo $?
#> flock: --cooldown-from needs --cooldown
#> 64
exec 9>>g
flock -u --cooldown 5 --cooldown-from start 9; echo $?
#> flock: --cooldown-from cannot be combined with --unlock: there the cooldown counts from the unlocking
#> 64
flock --holders --cooldown 5 --cooldown-from start f; echo $?
#> flock: --cooldown-from cannot be combined with --holders, which runs no command
#> 64
for from in '' never 'start ' END; do flock --cooldown 5 --cooldown-from "$from" f echo in; echo $?; done
#> flock: invalid value of --cooldown-from (start, end or success): ''
#> 64
#> flock: invalid value of --cooldown-from (start, end or success): 'never'
#> 64
#> flock: invalid value of --cooldown-from (start, end or success): 'start '
#> 64
#> flock: invalid value of --cooldown-from (start, end or success): 'END'
#> 64
ls
#> g
flock --cooldown 0 --cooldown-from success f echo 0 is none
#> 0 is none
