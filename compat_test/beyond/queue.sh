--queue: at most so many wait.

### queue-one-waits
hold f
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
flock --queue 1 f echo no; echo $?
#> 1
flock --queue 1 -E 7 -w 20 f echo no; echo $?
#> 7
release; wait $waiter
#> in
flock --queue 1 f echo free
#> free

### queue-two-wait
hold f
for i in 1 2; do
	flock --queue 2 f sh -c 'echo in >>out' &
	await 'placed $!'
done
flock --queue 2 f echo no; echo $?
#> 1
flock --queue 1 f echo no; echo $?
#> 1
flock --queue 3 f sh -c 'echo in >>out' &
await 'placed $!'
release; wait; cat out
#> in
#> in
#> in

### queue-0-waits-for-nobody
flock --queue 0 f echo in
#> in
hold f
flock --queue 0 -w 20 -E 7 f echo no; echo $?
#> 7
release

### queue-counts-only-its-own

# one who waits without the option has no place
hold f
flock f true & plain=$!
await 'waiting f'
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
flock --queue 1 f echo no; echo $?
#> 1
release; wait
#> in

### queue-a-killed-waiter-leaves-room
hold f
for i in 1 2 3; do
	flock --queue 1 f echo no & waiter=$!
	await 'placed $!'
	flock --queue 1 f echo no; echo $?
	kill -9 $waiter; wait $waiter
done
#> 1
#> 1
#> 1
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
release; wait $waiter
#> in

### queue-a-wait-with-an-end-leaves-room
hold f
flock --queue 1 -w .2 f echo no; echo $?
#> 1
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
release; wait $waiter
#> in

### queue-has-room-once-the-command-runs

# whoever came before the command began may be refused, and whoever comes later waits
hold f
flock --queue 1 f sh -c ': >second; until [ -e end ]; do read _ <../wake.end || exit; done' & second=$!
await 'placed $!'
flock --queue 1 f echo no; echo $?
#> 1
release
await '[ -e second ]'
flock --queue 1 f echo third & third=$!
await 'placed $!'
announce end; wait $second $third
#> third

### queue-no-fork-has-room-once-the-command-runs
hold f
flock -F --queue 1 f sh -c ': >second; until [ -e end ]; do read _ <../wake.end || exit; done' & second=$!
await 'placed $!'
release
await '[ -e second ]'
flock -F --queue 1 f echo third & third=$!
await 'placed $!'
announce end; wait $second $third
#> third

### queue-by-number
hold f
exec 9>>f 8<f
flock --queue 1 9 & waiter=$!
await 'placed $!'
flock --queue 1 -E 7 8; echo $?
#> 7
flock --queue 1 -E 7 --fd 8 echo no; echo $?
#> 7
release; wait $waiter; echo $?
#> 0
flock -n f echo no; echo $?
#> 1
# the place is not on the caller's descriptor
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
flock -u 9; wait $waiter
#> in

### queue-modes
hold f
flock --queue 2 -s f sh -c 'echo shared >>out' & waiters=$!
await 'placed $!'
flock --queue 2 --permits 3 f sh -c 'echo permit >>out' & waiters="$waiters $!"
await 'placed $!'
flock --queue 2 -s f echo no; echo $?
#> 1
flock --queue 2 --permits 3 f echo no; echo $?
#> 1
release; wait $waiters; sort out
#> permit
#> shared

### queue-cooldown

# who waits for the cooldown has a place, too
: >f; touch_in 100 f
flock --queue 1 --cooldown 1 f echo in & waiter=$!
await 'placed $!'
flock --queue 1 --cooldown 1 f echo no; echo $?
#> 1
flock --queue 1 f echo uses no cooldown; echo $?
#> uses no cooldown
#> 0
touch_in -1 f; wait $waiter
#> in

### queue-holders-shows-who-waits
# needs: proc locks
hold f
flock --queue 1 f true & waiter=$!
await 'placed $! && waiting f'
flock --holders f | sed "s/^ *$waiter /WAITER /; s/  */ /g" | grep WAITER | cut -d' ' -f 1-4
#> WAITER exclusive (waiting) $USER
release; wait

### queue-command-has-no-other-descriptor
# needs: linux proc
hold f
flock --queue 1 f sh -c 'for n in 3 4 5 6 7 8 9 10 11; do [ ! -e /proc/$$/fd/$n ] || readlink /proc/$$/fd/$n | sed "s,.*/,,; s/,.*//"; done' & waiter=$!
await 'placed $!'
release; wait $waiter
#directory> excl
#> f

### queue-what-is-left-beside-the-file
hold f
flock --queue 1 f true & waiter=$!
await 'placed $!'
release; wait; ls -A | grep -v held
#directory> .f.flock
#directory> .f.flock.queue
#half> .f.flock.queue
#> f
ls .f.flock.queue 2>/dev/null
#directory> free
#half> free

### queue-numbers
for n in -1 1.5 x '' 99999999999; do flock --queue "$n" f true; echo $?; done 2>&1 | sed 's/: .*waiting.*/: (waiting)/' | uniq -c | sed 's/^ *//' | sort -u
#> 1 64
#> 1 flock: (waiting)
ls

### queue-with-other-options
for o in -u --unlock --fcntl '--start 1' '--length 1' '--backend fcntl' --remove; do
	flock --queue 1 $o f true; echo $?
done 2>&1 | sed 's/: --.* cannot be combined.*/: (combined)/' | uniq -c | sed 's/^ *//' | sort -u
#> 1 64
#> 1 flock: (combined)
flock --queue 0 --remove f echo in; ls
#> in

### queue-of-a-file-that-cannot-be-written
# needs: root setpriv linux
# kernel: no byte can be locked
: >f; chmod 644 f
setpriv --reuid 65534 --clear-groups flock --queue 1 f echo no; echo $?
#> flock: f: --queue needs a file that can be written: Permission denied
#> flock: use another lock file; or, for all who use it, --backend directory
#> 66
exec 9<f
setpriv --reuid 65534 --clear-groups flock --queue 1 9; echo $?
#> flock: 9: --queue needs a file that can be written: Permission denied
#> flock: use another lock file; or, for all who use it, --backend directory
#> 66
flock -n f echo free
#> free

### queue-on-a-read-only-filesystem
# needs: root mount linux
# kernel: no byte can be locked
: >f
unshare -m sh -c 'mount --bind . /mnt && mount -o remount,bind,ro /mnt && cd /mnt && flock --queue 1 f echo no; echo $?'
#> flock: f: --queue needs a file that can be written: Read-only file system
#> flock: use another lock file; or, for all who use it, --backend directory
#> 73

### queue-without-proc
# needs: root mount linux
# kernel: no byte can be locked
: >f
unshare -m sh -c 'mount -t tmpfs none /proc && flock --queue 1 f echo no; echo $?'
#> flock: f: --queue: /proc is missing, which is needed to open it again
#> flock: --queue needs flock(2), byte locks and /proc; or, for all who use it, --backend directory
#> 65

### queue-of-a-directory
# needs: linux
# kernel: no byte can be locked
mkdir d
flock --queue 1 d echo no; echo $?
#> flock: d: --queue cannot be used with a directory
#> flock: lock a file in it instead; or, for all who use it, --backend directory
#> 65
flock --backend directory --queue 1 d echo in
#> in

### queue-of-a-removed-file
# needs: proc
# kernel: a directory lock is on the name
exec 9>f; rm f; exec 8</proc/$$/fd/9
flock 8
flock --queue 1 9 & waiter=$!
await 'placed $!'
flock --queue 1 -E 7 9; echo $?
#> 7
flock -u 8; wait $waiter; echo $?
#> 0

### queue-of-a-descriptor-that-is-not-open
flock --queue 1 9; echo $?
#> flock: 9: Bad file descriptor
#> flock: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock 9 9>&9
#> 65

### queue-of-an-upgrade
# needs: linux

# as with -n, who is refused has lost the shared lock
hold -s f
flock --queue 1 f true & waiter=$!
await 'placed $!'
exec 9>>f
flock -s 9
flock --queue 1 9; echo $?
#> 1
release; wait $waiter; echo $?
#> 0

### queue-on-another-machine
# directory: only

# the place of a waiter of another machine counts until somebody removes it
hold f
flock --queue 1 f true & waiter=$!
await 'placed $!'
id=$(ls .f.flock.queue | sed -n 's/^permit,//p')
other=$(echo "$id" | awk -F, -v OFS=, '{$3 = 77; $6 = "elsewhere"; $7 = "m"; $8 = "b"; print}')
mv ".f.flock.queue/permit,$id" ".f.flock.queue/permit,$other"
kill -9 $waiter; wait $waiter
flock --queue 1 --verbose f true 2>&1 | grep queue | sed 's;permit,[^ )]*;RECORD;'
#> flock: the queue: held by process 77 on host elsewhere (a flock of this lock there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock.queue/RECORD)
rm .f.flock.queue/permit,*
flock --queue 1 f echo in & waiter=$!
await 'placed $!'
release; wait $waiter
#> in

### queue-not-for-a-program
# needs: linux
# kernel: the places are bytes of the file
printf '#!/bin/sh\necho in\n' >f; chmod +x f
flock --queue 1 f ./f; echo $?
#> flock: f: --queue cannot be used with an executable file
#> flock: nobody can execute a file that is open for writing: use a separate lock file, in a script "$0.lock"; or, for all who use it, --backend directory
#> 65

### queue-beside-a-lock-of-the-whole-file
# needs: python3 linux
# kernel: the places are bytes of the file
: >f
flock f python3 -S -c 'import fcntl, os, time
f = open("f", "r+"); fcntl.lockf(f, fcntl.LOCK_EX); open("has", "w")
while not os.path.exists("go"): time.sleep(.01)' & holder=$!
await '[ -e has ]'
flock --queue 1 --report 0 f echo in 2>&1 | sed 's/held by.*/held/'; echo ${PIPESTATUS[0]}
#> flock: f: --queue: another program has locked its bytes with fcntl(2)
#> flock: use a separate lock file; or, for all who use it, --backend directory
#> 65
announce go; wait $holder

### queue-a-place-is-left-while-a-request-looks
# needs: strace linux
# kernel: the places are bytes of the file

# who has been kept out of the place finds nobody there, and takes it: to be refused is to rely on another run
hold f
flock --queue 1 f echo no & first=$!
await 'placed $first'
strace -o calls -qqq -e signal=none -e trace=fcntl flock --queue 1 f echo no; echo $?
#> 1
stops=fcntl:signal=STOP:when=$(grep -n 'F_OFD_SETLK, .*l_start=2305843009213693952' calls | cut -d: -f1)
strace -f -o stopped -qqq -e trace=fcntl -e inject=$stops flock --queue 1 f echo in & tracer=$!
await 'grep -qs "stopped by SIGSTOP" stopped'
{ kill -9 $first; wait $first; } 2>/dev/null
kill -CONT $(sed -n 's/ .*stopped by SIGSTOP.*//p' stopped)
await 'placed $(sed -n "s/ .*stopped by SIGSTOP.*//p" stopped | head -n 1)'
release; wait $tracer; echo $?
#> in
#> 0

### queue-where-byte-locks-are-denied
# needs: linux
# kernel: the places are bytes of the file
hold f
ulimit -t 5 # seconds of the processor
"$SELF" byte-locks-denied "$(type -P flock)" --queue 1 f echo no; echo $?
#> flock: f: --queue: Permission denied: a security policy may forbid locks on it
#> flock: --queue needs flock(2), byte locks and /proc; or, for all who use it, --backend directory
#> 65
release
