--holders compared with other tools that show kernel locks, and on file systems where holders are hard to find.

# needs: linux proc locks

### holders-as-fuser
# needs: fuser
# kernel: fuser shows open files
hold -s f; hold -s f
flock f true & waiter=$!
await 'waiting f'
# whoever has the file open holds the lock or waits for it; the sleeps of the holders come and go
same() { [ "$(flock --holders f | awk '{print $1}' | sort -un | xargs)" = "$(fuser f 2>/dev/null | xargs -n1 | sort -un | xargs)" ]; }
await same; echo same
#> same
release; wait

### holders-as-lslocks
# needs: lslocks python3
# kernel: lslocks shows kernel locks
flock f sleep 100 & a=$!
flock -s g sleep 100 & b=$!
python3 -c 'import fcntl, time; h = open("h", "w"); fcntl.lockf(h, fcntl.LOCK_EX); open("has", "w"); time.sleep(100)' & c=$!
await '[ -e has ] && flock --holders f >/dev/null && flock --holders g >/dev/null'
for name in f g h; do
	# While other locks come and go, lslocks shows a lock twice, or not at all.
	await 'lslocks -n -r -o PID,MODE,PATH | grep " $PWD/$name\$" >line'
	read pid mode rest <line
	echo $name $mode $(flock --holders $name | awk -v pid=$pid '$1 == pid {print $2}')
done
#> f WRITE exclusive
#> g READ shared
#> h WRITE exclusive
pkill -P $a; pkill -P $b; kill $c; wait

### holders-fcntl
# kernel: open file description locks
flock --fcntl f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
flock --holders f | sed "s/^$(cat pid) /COMMAND /; s/  */ /g" | grep COMMAND | cut -d' ' -f 1-3
#> COMMAND exclusive $USER
kill $(cat pid); wait
flock --fcntl -s --start 10 --length 5 f sh -c 'echo $$ >pid2; exec sleep 100' &
await '[ -s pid2 ]'
flock --holders f | sed "s/^$(cat pid2) /COMMAND /; s/  */ /g" | grep COMMAND | cut -d' ' -f 1-3
#> COMMAND shared $USER
flock --fcntl f true & waiter=$!
await 'waiting f && asleep' # one that runs does not show its call
flock --holders f | sed "s/^$waiter /WAITER /; s/  */ /g" | grep -e waiting | cut -d' ' -f 1-3
#> WAITER exclusive (waiting)
kill $(cat pid2); wait

### holders-fcntl-waiters-of-another-file
# kernel: open file description locks
hold --fcntl f; hold --fcntl g
for i in 1 2 3 4; do
	flock --fcntl g true 8<>f & others="$others $!"
done
flock --fcntl f true & waiter=$!
await 'waiting f && waiting g 4 && asleep 5'
for i in 1 2 3 4 5; do
	flock --holders f | sed "s/^$waiter /WAITER /" | grep waiting | awk '{print $1}'
done | sort | uniq -c | xargs
#> 5 WAITER
[ "$(flock --holders g | awk '/waiting/ {print $1}' | sort | xargs)" = "$(echo $others | xargs -n1 | sort | xargs)" ] && echo others
#> others
release; wait

### holders-fcntl-waiters-keep-their-modes
# kernel: open file description locks
hold --fcntl --start 0 --length 10 f
# the one with the lower process id is the last one in the kernel's list
(until [ -e others ]; do read _ <../wake.others || exit; done; exec flock --fcntl f true) & writer=$!
flock --fcntl -s f true & reader=$!
flock --start 5 f true & end=$!
await 'waiting f 2'; announce others
await 'waiting f 3 && asleep 3'
for i in 1 2 3 4 5; do
	flock --holders f | grep waiting | sed "s/^$writer /WRITER /; s/^$reader /READER /; s/^$end /END /" | awk '{print $1, $2}'
done | sort | uniq -c | sed 's/^ *//'
#> 5 END exclusive
#> 5 READER shared
#> 5 WRITER exclusive
release; wait

### holders-fcntl-waiter-that-cannot-be-told
# kernel: open file description locks
# needs: root setpriv
hold --fcntl f
flock --fcntl f true & waiter=$!
await 'waiting f'
setpriv --reuid 65534 --clear-groups flock --holders f | awk '/waiting/ {print $1, $2, $3}'
#> - exclusive (waiting)
release; wait

### holders-line-of-permits
# kernel: waiters for a permit stand in line
hold --permits 1 f
flock --permits 1 f true & flock --permits 1 f true & flock --permits 1 f true &
await '[ "$(flock --holders f | grep -c "^[0-9].* permit (waiting)")" = 3 ]'
flock --holders f | grep -c 'permit (waiting).* flock --permits 1 f true$'
#> 3
flock --holders f | grep -v waiting | awk '{print $2}' | sort -u
#> permit
release; wait
flock --holders f; echo $?
#> 1

### holders-itself-and-others
# kernel: locks of open files

# with another open file
hold -s f
(flock -s 9; exec flock --holders f) 9>f | grep -c ' flock --holders f'
#> 1
release
# with the same one
(flock -s 9; sleep 100 & flock --holders f; kill $!) 9>f | grep -c ' flock --holders f'
#> 0

### holders-in-a-pid-namespace
# kernel: locks of other namespaces are not shown
# needs: pidns
: >f
unshare -pf --mount-proc sh -c 'flock --holders f; echo $?' 2>&1
#> flock: only processes of this pid namespace can be seen: others may hold f
#> 1
unshare -pf --mount-proc sh -c 'flock f flock --holders f >/dev/null; echo $?' 2>&1
#> 0
unshare -pf --mount-proc sh -c 'flock --backend directory --holders f; echo $?' 2>&1
#> 1

### holders-posix
# needs: python3
# kernel: POSIX locks
python3 -c 'import fcntl, time; f = open("f", "w"); fcntl.lockf(f, fcntl.LOCK_EX); open("has", "w"); time.sleep(100)' & holder=$!
await '[ -e has ]'
flock --holders f | sed "s/^$holder /HOLDER /; s/  */ /g" | cut -d' ' -f 1-3
#> HOLDER exclusive $USER
python3 -c 'import fcntl; f = open("f", "r"); fcntl.lockf(f, fcntl.LOCK_SH)' & waiter=$!
await 'waiting f'
flock --holders f | sed "s/^$waiter /WAITER /; s/  */ /g" | grep waiting | cut -d' ' -f 1-3
#> WAITER shared (waiting)
kill $holder; wait

### holders-every-process-with-the-descriptor
# kernel: children share the descriptor
flock f sh -c 'sleep 100 & sleep 100 & echo $! >pid; wait' &
await '[ -s pid ]'
flock --holders f | awk '{print $2}' | sort | uniq -c | sed 's/^ *//'
#> 4 exclusive
kill -9 $! $(flock --holders f | awk '{print $1}') 2>/dev/null; wait

### holders-on-tmpfs-and-overlayfs
# needs: mount root
# kernel: device numbers of the kernel's locks
cat >look.sh <<'END'
cd "$1"
flock f sh -c 'echo $$ >pid; exec sleep 100' & flock=$!
until [ -s pid ] && grep -qa ^sleep /proc/$(cat pid)/cmdline; do sleep .01; done
flock --holders f | sed "s/^$(cat pid) /COMMAND /; s/^$flock /FLOCK /; s/  */ /g" | cut -d' ' -f 1-3 | sort
flock -s f true & waiter=$!
until grep -q -e '->.*FLOCK.*READ *'$waiter' ' /proc/locks; do sleep .01; done
flock --holders f | sed "s/^$waiter /WAITER /; s/  */ /g" | grep WAITER | cut -d' ' -f 1-3
kill $(cat pid); wait
flock --holders f; echo $?
END
unshare -m sh -c 'mount -t tmpfs none /mnt && sh look.sh /mnt'
#> COMMAND exclusive $USER
#> FLOCK exclusive $USER
#> WAITER shared (waiting)
#> 1
unshare -m sh -c 'mount -t tmpfs none /mnt && mkdir /mnt/lower /mnt/upper /mnt/work /mnt/merged && : >/mnt/lower/f &&
	mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/merged && sh look.sh /mnt/merged'
#> COMMAND exclusive $USER
#> FLOCK exclusive $USER
#> WAITER shared (waiting)
#> 1

### holders-another-file-of-the-same-name-or-number
# needs: mount root
# kernel: device numbers of the kernel's locks

# the same inode number on another filesystem is another file
unshare -m sh -c 'mkdir a b; mount -t tmpfs none a && mount -t tmpfs none b && : >a/f && : >b/f &&
	[ $(stat -c %i a/f) = $(stat -c %i b/f) ] && flock a/f flock --holders b/f; echo $?'
#> 1

### holders-hard-link
# kernel: a kernel lock is on the file, not on its name
: >f; ln f g
flock f flock --holders g >/dev/null; echo $?
#> 0

### holders-by-backend
# kernel: both kinds side by side
flock f sh -c ': >has; exec sleep 100' & flock=$!
await '[ -e has ]'
flock --backend directory --holders f; echo $?
#> 1
flock --backend native --holders f >/dev/null; echo $?
#> 0
flock --backend directory -F f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ] && flock --backend directory --holders f >/dev/null'
flock --backend directory --holders f | wc -l | tr -d ' '
#> 1
pkill -P $flock; kill $(cat pid); wait

### holders-that-another-user-cannot-name
# kernel: /proc/locks has no process for these
# needs: root setpriv
: >f; chmod 666 f
asked() { setpriv --reuid 65534 --clear-groups flock --holders f; echo $?; }
asked
#> 1
flock --fcntl -F f sh -c ': >has; exec sleep 100' & holder=$!
await '[ -e has ]'
asked
#> - exclusive - - a process that this user may not see
#> 0
kill $holder; wait
# flock was killed, and the command it ran has the lock
flock -s f sh -c 'echo $$ >pid; exec sleep 100' & holder=$!
await '[ -s pid ]'
kill -9 $holder; wait $holder
asked
#> - shared - - a process that this user may not see
#> 0
kill $(cat pid)
await '! flock --holders f >/dev/null'
asked
#> 1

### holders-of-root-on-a-subvolume
# kernel: /proc/locks has the device number of the mount, and stat(2) another one
# needs: root setpriv mount mkfs.btrfs
truncate -s 120M img; mkfs.btrfs -q img >/dev/null 2>&1; mkdir m; chmod 755 .
cat >script <<-'END'
	mount -o loop img m && btrfs subvolume create m/s >/dev/null && cd m/s || exit
	: >f; chmod 644 f
	flock f sh -c ': >has; until [ -e go ]; do sleep .02; done' & holder=$!
	until [ -e has ]; do sleep .02; done
	asked() { setpriv --reuid 65534 --clear-groups flock --holders f; echo $?; }
	asked | sed "s/^$holder /HOLDER /; s/  */ /g" | cut -d' ' -f 1-3
	: >go; wait
	asked
END
unshare -m bash script
#> HOLDER exclusive root
#> 0
#> 1

### holders-lists-itself-if-no-other-process-has-the-lock
(flock 9; exec flock --holders f) 9>f | awk '{print $2, $3, $5, $6}'
#> exclusive $USER flock --holders

### holders-of-a-descriptor-without-a-name
# kernel: the directory lock needs a name
exec 9>f; rm f
flock --holders 9; echo $?
#> 1
flock 9; flock --holders 9 | awk '{print $2}' | sort -u
#> exclusive

### holders-no-look-at-other-files
# needs: strace
# kernel: where the kernel has locks, --holders reads fdinfo

# stat(2) of a file on a server that is gone would not return
exec 8>other 9>f; flock 9
[[ $(cat /proc/self/fdinfo/8) == *ino:* ]] || echo 'this kernel does not show the inode number'
strace -f -qqq -e trace=/stat -o trace flock --holders f | awk '{print $2}' | sort -u
#> exclusive
grep -c "/proc/$$/fd/9\"" trace
#> 1
grep -c "/proc/$$/fd/8\"" trace
#> 0

### holders-in-another-mount-namespace
# needs: root mount
# kernel: the directory lock refuses this path
mkdir m
unshare -m bash -c 'mount -t tmpfs none m && cd m && : >free && exec 9>f && flock 9 && : >../has && until [ -e ../go ]; do read _ <../../wake.go || exit; done' & there=$!
await '[ -e has ]'
flock --holders "/proc/$there/root$PWD/m/f" | sed 's/^[0-9]* *\([a-z]*\) .*/\1/'; echo ${PIPESTATUS[0]}
#> exclusive
#> 0
flock -n "/proc/$there/root$PWD/m/f" true; echo $?
#> 1
# nobody is found, but a directory lock could not be looked for
flock --holders "/proc/$there/root$PWD/m/free" 2>/dev/null; echo $?
#> 69
announce go; wait

### holders-without-the-list-of-the-kernel
# needs: root mount subset
# kernel: it lists its locks

# as in a service of systemd with ProcSubset=pid
hidden() { unshare -m sh -c 'mount -t proc -o subset=pid proc /proc && exec "$@"' sh "$@"; echo $?; }
flock -F f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
hidden flock --holders f | sed "s/^$holder /HOLDER /; s/  */ /g" | cut -d' ' -f 1-3
#> HOLDER exclusive root
#> 0
hidden flock --report 0 -n f true 2>&1 | sed "s/process $holder (.*)/process HOLDER/; s/for [0-9]* s/for N s/"
#> flock: f is held by process HOLDER, running for N s
#> 1
announce go; wait
hidden flock --holders f 2>&1
#> flock: cannot tell who holds f: cannot read /proc/locks: No such file or directory
#> 69
hidden flock --report 1000 f sh -c 'exec sleep 100 & echo $! >pid; until grep -qa ^sleep /proc/$!/cmdline; do :; done' 2>out
#> 0
sed "s/process $(cat pid) /process LEFT /" out
#> flock: f is still held by process LEFT (sleep 100); -o would prevent that
kill $(cat pid)
