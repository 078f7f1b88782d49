--cooldown SECONDS: after its holder is done, no process that uses --cooldown gets the lock.

### cooldown-at-most-once
flock -n --cooldown 600 f echo first; echo $?
#> first
#> 0
flock -n --cooldown 600 f echo second; echo $?
#> 1
flock -n -E 75 --cooldown 600 f echo third; echo $?
#> 75
flock -n --cooldown .001 f echo 'the time of whoever was in counts'; echo $?
#> 1

### cooldown-is-the-modification-time
before=$(date +%s)
flock --cooldown 600 f true
after=$(date +%s) end=$(mtime f)
end=${end%.*}
[ $((before + 600)) -le $end ] && [ $end -le $((after + 600)) ] && echo right
#> right

### cooldown-fraction
# needs: python3
flock --cooldown 1000.75 f true
left=$(python3 -c 'import os, time; print(os.stat("f").st_mtime - time.time())')
case $left in 1000.[0-7]*|99?.*) echo right;; *) echo "$left";; esac
#> right

### cooldown-set-on-acquiring-and-at-the-end
flock --cooldown 600 f bash -c 'mtime f; sleep .02' >start
[ "$(cat start)" != "$(mtime f)" ] && echo later
#> later
[ "$(printf '%s\n' "$(cat start)" "$(mtime f)" | sort -n | head -1)" = "$(cat start)" ] && echo moved on
#> moved on
[ "$(cut -d. -f1 start)" -gt "$(date +%s)" ] && echo set while it ran
#> set while it ran

### cooldown-also-after-a-failure
flock --cooldown 600 f sh -c 'exit 3'; echo $?
#> 3
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-command-not-found
# needs: own-path
flock --cooldown 600 f ./missing 2>&1; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69
flock -F --cooldown 600 f ./missing 2>&1; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69
flock --limit 60 --cooldown 600 f ./missing 2>&1; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69
flock -n --cooldown 600 f echo in
#> in

### cooldown-too-few-descriptors
# needs: rlimits linux own-path

# Whatever keeps the command from being started, the next run may begin.
for guard in '' '--limit 60'; do
	for n in {4..24}; do
		rm -f f
		(ulimit -n $n; flock $guard --cooldown 600 f true) 2>errors && break
		cat errors >>all
		flock -n --cooldown 600 f true || { echo "still in its cooldown, with $n $guard:"; cat errors; }
	done
	grep -q 'fork failed' all && echo one of them locked and could not fork
	: >all
done
#> one of them locked and could not fork
#> one of them locked and could not fork

### cooldown-terminated-before-the-command
# needs: strace linux
# directory: with a lock of the kernel flock dies at once

# flock, which has waited, gets the signal when it has the lock. If the signal is noticed late, the command runs.
hold f
strace -f -qqq -o trace -e signal=none -e trace=utimensat -e inject=utimensat:signal=TERM:delay_exit=300000:when=1 \
	flock --cooldown 600 f sh -c ': >ran' & traced=$!
await 'flock --holders f | grep -q waiting'
release
wait $traced; echo $?
#> 143
[ -e ran ] || [[ $(mtime f) < $EPOCHREALTIME ]] && echo no cooldown without a command
#> no cooldown without a command

### cooldown-without-it-nobody-waits
flock --cooldown 600 f true
flock -n f echo plain
#> plain
flock -n -s f echo shared
#> shared
flock -n --permits 2 f echo permit
#> permit
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-without-it-nobody-sets-it
: >f; touch -t 200102030405.06 f
flock f true
flock --permits 1 f true
mtime f
#> 981173106.000000000

### cooldown-waits-for-its-end
flock --cooldown .3 f true
end=$(mtime f)
flock -w 20 --cooldown .3 f bash -c 'echo $EPOCHREALTIME' >in; echo $?
#> 0
printf '%s\n' "$end" "$(cat in)" | sort -c -n && echo in order
#> in order

### cooldown-and-lock-both

# the lock being free is not enough, nor is the cooldown being over
hold f
touch_in -60 f
flock -n --cooldown 600 f echo in; echo $?
#> 1
release
flock -n --cooldown 600 f echo in
#> in

### cooldown-timeout
# needs: linux
flock --cooldown 600 f true
start=${EPOCHREALTIME/./}
flock -w .2 -E 9 --cooldown 600 f echo in; echo $?
#> 9
took=$(( (${EPOCHREALTIME/./} - start) / 1000 ))
[ $took -ge 200 ] && [ $took -lt 10000 ] && echo in time
#> in time
touch -d '2100-01-02 03:04:05 UTC' f
flock --verbose -n --cooldown 600 f true 2>&1 | grep -v 'directory lock'
#> flock: cooldown until 2100-01-02 03:04:05 +0000
#> flock: failed to get lock
flock --verbose -w .02 --cooldown 600 f true 2>&1 | grep -v 'directory lock'
#> flock: cooldown until 2100-01-02 03:04:05 +0000
#> flock: timeout while waiting to get lock
touch f

# nor is every conflict one with --cooldown
hold f
flock --verbose -n --cooldown 600 f true 2>&1 | grep -v -e 'directory lock' -e 'held by'
#> flock: failed to get lock
release

### cooldown-timeout-longer-than-it
flock --cooldown .1 f true
flock -w 20 --cooldown .1 f echo in; echo $?
#> in
#> 0

### cooldown-touch-ends-it
flock --cooldown 600 f true
touch f
flock -n --cooldown 600 f echo in
#> in

### cooldown-touch-ends-it-for-one-who-waits
flock --cooldown 600 f true
flock --cooldown 600 f echo in &
touch f
wait
#> in

### cooldown-touch-extends-it
flock --cooldown .001 f true
touch_in 3600 f
flock -n --cooldown .001 f echo in; echo $?
#> 1
flock -w .05 --cooldown .001 f echo in; echo $?
#> 1

### cooldown-touch-extends-it-for-one-who-waits

# it waits for the end that it has seen, which touch moves before it comes: again, and for longer, where that was too late
end=0 long=1
until [ $end -gt "$(date +%s)" ]; do
	{ kill $waiter; wait $waiter; } 2>/dev/null
	: >f; touch_in $((long *= 2)) f; end=$(mtime f); end=${end%.*}
	flock -w $((2 * long)) --cooldown 600 f echo in >out & waiter=$!
	await asleep
	touch_in 3600 f
done
wait $waiter; echo $?; cat out
#> 1

### cooldown-touch-in-the-command

# the end of the command sets it anew
flock --cooldown 600 f touch -t 200102030000 f
flock -n --cooldown 600 f echo in; echo $?
#> 1
flock --cooldown .001 f true 2>/dev/null & waiter=$!
touch f; wait $waiter
flock --cooldown 600 f bash -c 'touch_in 36000 f'
end=$(mtime f)
[ ${end%.*} -lt $(($(date +%s) + 3600)) ] && echo from the end of the command
#native> from the end of the command
#directory> from the end of the command

### cooldown-a-file-whose-time-is-long-past
: >f; touch -t 197101010000 f
flock -n --cooldown 600 f echo in
#> in

### cooldown-with-permits

# two could look at the time, and then set it, at once
flock --permits 2 --cooldown 600 f echo in; echo $?
#> flock: --cooldown cannot be combined with --shared or --permits
#> 64
ls

### cooldown-numbers
for n in -1 x '' 1x; do
	flock --cooldown "$n" f echo in; echo $?
done
#> flock: invalid cooldown: '-1'
#> 64
#> flock: invalid cooldown: 'x'
#> 64
#> flock: invalid cooldown: ''
#> 64
#> flock: invalid cooldown: '1x'
#> 64
flock --cooldown; echo $?
#> flock: option '--cooldown' requires an argument
#> Try 'flock --help' for more information.
#> 64
ls

### cooldown-after-the-end-of-32-bits
# needs: strace linux

# A filesystem with times of 32 bits keeps another time, and says nothing. Here it keeps none: the first call, or each,
# has no effect.
lost() { strace -qqq -e signal=none -o /dev/null -e trace=utimensat -e inject=utimensat:retval=0$1 "${@:2}"; }
lost :when=1 flock --cooldown inf --cooldown-from start f echo in; echo $?
#> in
#> 0
mtime f
#> 2147483647.000000000
flock -n --cooldown 1 f echo again; echo $?
#> 1
rm f
lost '' flock --cooldown inf f echo no; echo $?
#> flock: cannot set the cooldown of f: its filesystem does not keep that time
#> 71
lost '' flock --cooldown 600 f echo no; echo $?
#> flock: cannot set the cooldown of f: its filesystem does not keep that time
#> 71

### cooldown-huge
for n in 1e30 inf; do
	rm -f f
	flock --cooldown $n f echo in; echo $?
	flock -n --cooldown 1 f echo again; echo $?
done
#> in
#> 0
#> 1
#> in
#> 0
#> 1
