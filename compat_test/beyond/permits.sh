--permits N: up to N holders at once.

### permits-so-many-and-no-more
hold --permits 2 f; hold --permits 2 f
flock -n --permits 2 f echo in; echo $?
#> 1
release
flock -n --permits 2 f echo in
#> in

### permits-one-is-exclusive-among-them
hold --permits 1 f
flock -n --permits 1 f echo in; echo $?
#> 1
release

### permits-a-loop-of-jobs
job='n=$(ls -d on.* 2>/dev/null | wc -l); : >on.$$; [ $n -lt 3 ] || echo four; sleep .02; rm on.$$; echo >>done'
for i in 1 2 3 4 5 6 7 8 9; do
	flock --permits 3 f sh -c "$job" &
done
wait
wc -l <done | tr -d ' '
#> 9

### permits-each-n-looks-among-its-own
hold --permits 3 f
hold --permits 3 f
flock -n --permits 2 f echo in; echo $?
#> 1
flock -n --permits 3 f echo in; echo $?
#> in
#> 0
release

### permits-conflict-status-and-timeout
hold --permits 1 f
flock -n -E 9 --permits 1 f true; echo $?
#> 9
flock -w .05 -E 8 --permits 1 f true; echo $?
#> 8
flock --verbose -n --permits 1 f true 2>&1 | grep -v -e 'directory lock' -e 'held by'
#> flock: failed to get lock
flock --verbose -w .05 --permits 1 f true 2>&1 | grep -v -e 'directory lock' -e 'held by'
#> flock: timeout while waiting to get lock
release

### permits-a-waiter-gets-the-next
hold --permits 1 f
flock --permits 1 f echo in &
flock -w 100 --permits 1 f echo in &
await 'asleep 2'
release
wait
#> in
#> in

### permits-exclusive-waits-for-all-of-them
hold --permits 2 f; hold --permits 2 f
flock -n f echo in; echo $?
#> 1
flock f echo in &
release
wait
#> in

### permits-exclusive-waits-for-the-last
exec 8>>f
flock --permits 2 8
( exec 8>&- 9>>f; flock --permits 2 9; : >has; await '[ -e go ]' ) &
await '[ -e has ]'
flock -u --permits 2 8
flock -n f echo in; echo $?
#> 1
announce go; wait
flock -n f echo in
#> in

### permits-exclusive-keeps-them-out
hold f
flock -n --permits 2 f echo in; echo $?
#> 1
flock -w .05 --permits 2 f echo in; echo $?
#> 1
release
flock --permits 2 f echo in
#> in

### permits-and-shared-go-together
# needs: linux
hold --permits 1 f
flock -n -s f echo in
#> in
release
hold -s f
flock -n --permits 1 f echo in
#> in
release

### permits-waiters-do-not-keep-exclusive-out

# a waiter for a permit holds nothing: once the holder is gone an exclusive lock can be had
hold --permits 1 f
flock --permits 1 f true & flock --permits 1 f true &
await 'asleep 2'
release
wait
flock -n f echo in
#> in

### permits-status-and-output-of-the-command
flock --permits 2 f sh -c 'echo out; exit 7'; echo $?
#> out
#> 7
flock --permits 2 f sh -c 'kill -TERM $$'; echo $?
#> 143

### permits-forms
flock --permits 2 f -c 'echo string'
#> string
flock -F --permits 2 f echo no-fork
#> no-fork
flock -o --permits 2 f echo close
#> close
exec 9>>f
flock --permits 2 --fd 9 echo fd
#> fd
flock --permits 2 --fd 9 -c 'echo fd string'
#> fd string
flock --permits 2 9; echo $?
#> 0
flock --permits=2 -n f echo attached
#> attached
flock --permit 2 -n f echo abbreviated
#> abbreviated

### permits-count-in-every-form
flock -F --permits 1 f sh -c 'flock -n --permits 1 f echo in; echo $?'
#> 1
flock -o --permits 1 f sh -c 'flock -n --permits 1 f echo in; echo $?'
#> 1
flock --permits 1 f -c 'flock -n --permits 1 f echo in; echo $?'
#> 1
( flock --permits 1 --fd 9 sh -c 'flock -n --permits 1 f echo in; echo $?' ) 9>>f
#> 1
( flock --permits 1 9; flock -n --permits 1 f echo in; echo $? ) 9>>f
#> 1

### permits-of-a-descriptor
exec 9>>f
flock --permits 1 9
flock -n --permits 1 f echo in; echo $?
#> 1
flock -u --permits 1 9; echo $?
#> 0
flock -n --permits 1 f echo in; echo $?
#> in
#> 0

### permits-of-a-descriptor-again

# the same descriptor has one permit, however often it asks
exec 9>>f
flock --permits 2 9; flock -n --permits 2 9; flock -n --permits 2 9; echo $?
#> 0
flock -n --permits 2 f echo second
#> second
hold --permits 2 f
flock -n --permits 2 f echo third; echo $?
#> 1
flock -n --permits 2 9; echo $?
#> 0
release

### permits-end-with-the-descriptor
exec 9>>f
flock --permits 1 9
exec 9>&-
flock -n --permits 1 f echo in
#> in
( flock --permits 1 9 ) 9>>f
flock -n --permits 1 f echo in
#> in

### permits-unlock-in-the-middle-of-a-script
worker() {
	exec 9>>f
	for i in 1 2 3; do
		flock --permits 2 9
		n=$(ls -d on.* 2>/dev/null | wc -l); : >on.$1
		[ $n -lt 2 ] || echo three
		sleep .01
		rm on.$1
		flock -u --permits 2 9
	done
}
worker 1 & worker 2 & worker 3 & worker 4 &
wait
flock -n f echo all back
#> all back

### permits-converted-to-exclusive-and-back
exec 9>>f
flock --permits 2 9
flock 9; echo $?
#> 0
flock -n --permits 2 f echo in; echo $?
#> 1
flock -n -s f echo in; echo $?
#> 1
flock --permits 2 9; echo $?
#> 0
flock -n --permits 2 f echo second
#> second
flock -n --permits 1 f echo in; echo $?
#> 1
flock -n f echo in; echo $?
#> 1

### permits-unlocked-leave-the-descriptor-its-other-lock
# needs: proc linux locks
# kernel: only the kernel has fcntl(2) locks
exec 9<>f
flock --fcntl --start 1 --length 1 9
flock --permits 3 9; flock -u --permits 3 9; echo $?
#> 0
grep OFDLCK /proc/self/fdinfo/9 | cut -d' ' -f8-
#> 1 1
flock -n f echo in
#> in

### permits-unlocked-without-one
exec 9>>f
hold --permits 1 f
flock -u --permits 1 9; echo $?
#> 0
flock -n --permits 1 f echo in; echo $?
#> 1
release

### permits-shared-becomes-a-permit
exec 9>>f
flock -s 9
flock --permits 1 9; echo $?
#> 0
flock -n --permits 1 f echo in; echo $?
#> 1
flock -u --permits 1 9
flock -n f echo free
#> free

### permits-of-a-descriptor-with-the-whole-lock
exec 9>>f
flock 9
flock -n --permits 2 9; echo $?
#> 0
flock -n --permits 2 f echo second
#> second

### permits-freed-without-proc
# needs: root mount proc linux locks
# kernel: about byte locks of the kernel
hidden() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
exec 7<>f 8<>f 9<>f
for fd in 7 8 9; do hidden flock -n --permits 3 $fd || echo refused; done
flock -n --permits 3 f echo in; echo $?
#> 1
hidden flock -u --permits 3 8
flock -n --permits 3 f echo in; echo $?
#> in
#> 0
grep -c OFDLCK /proc/self/fdinfo/7
#> 1
grep -c OFDLCK /proc/self/fdinfo/8
#> 0
grep -c OFDLCK /proc/self/fdinfo/9
#> 1

### permits-verbose
flock --permits=2 --verbose f true
#directory> flock: using the directory lock $DIR/.f.flock
#half> flock: using the directory lock $DIR/.f.flock
#> flock: getting lock took N seconds
#> flock: executing true
