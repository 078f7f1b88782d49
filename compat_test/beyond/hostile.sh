State directories that are damaged or prepared by an attacker: one clear line, the right status, nothing changed.

# directory: only

### hostile-link
# needs: find-printf
tree() { find . -printf '%p %y %m %s %i %l\n' | sort; }
: >f; mkdir elsewhere; : >elsewhere/free; ln -s elsewhere .f.flock
before=$(tree)
flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: it is a symbolic link, which is never made here; remove it
#> 65
[ "$before" = "$(tree)" ] && echo unchanged
#> unchanged

### hostile-link-to-nothing
# needs: find-printf
tree() { find . -printf '%p %y %m %s %i %l\n' | sort; }
: >f; ln -s elsewhere .f.flock
before=$(tree)
flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: it is a symbolic link, which is never made here; remove it
#> 65
[ "$before" = "$(tree)" ] && echo unchanged
#> unchanged

### hostile-file
# needs: find-printf
tree() { find . -printf '%p %y %m %s %i %l\n' | sort; }
: >f; echo mine >.f.flock
before=$(tree)
flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: it is not a directory; remove it
#> 65
flock -n -s f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: it is not a directory; remove it
#> 65
[ "$before" = "$(tree)" ] && echo unchanged
#> unchanged

### hostile-in-every-form
: >f; : >.f.flock
exec 9<f
for words in '9' '-u 9' '-n 9' '-w .01 9' '--fd 9 echo in' '-F f echo in' '-o f echo in' '-s f echo in' '--permits 2 f echo in' '--holders f' '--cooldown 9 f echo in'; do
	echo "$(flock $words 2>&1 | wc -l | tr -d ' ') $(flock $words >/dev/null 2>&1; echo $?)"
done | uniq -c | sed 's/^ *//'
#> 11 1 65
flock f -c 'echo in'; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: it is not a directory; remove it
#> 65

### hostile-unreadable
# needs: find-printf root setpriv
: >f; chmod 666 f; chmod 777 .
flock f true
chmod 700 .f.flock
before=$(find . -printf '%p %m\n')
setpriv --reuid 65534 --clear-groups flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: Permission denied
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 66
[ "$before" = "$(find . -printf '%p %m\n')" ] && echo unchanged
#> unchanged

### hostile-unwritable
# needs: find-printf root setpriv
: >f; chmod 666 f; chmod 777 .
flock f true
before=$(find . -printf '%p %m\n')
setpriv --reuid 65534 --clear-groups flock f echo in; echo $?
#> flock: f: cannot lock: state directory $DIR/.f.flock: Permission denied
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 66
[ "$before" = "$(find . -printf '%p %m\n')" ] && echo unchanged
#> unchanged

### hostile-directory-of-the-file-unwritable
# needs: root setpriv
: >f; chmod 666 f; chmod 755 .
setpriv --reuid 65534 --clear-groups flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: Permission denied
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 66
ls -A
#> f
mkdir state; chmod 777 state
FLOCK_DIR=$PWD/state setpriv --reuid 65534 --clear-groups flock f echo in; echo $?
#> in
#> 0

### hostile-flock-dir-missing
: >f
FLOCK_DIR=$PWD/missing flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/missing: No such file or directory
#> flock: the directory that FLOCK_DIR names must exist and be writable
#> 65
ls -A
#> f

### hostile-read-only
# needs: mount root
: >f
unshare -m sh -c 'mount --bind . /mnt && mount -o remount,bind,ro /mnt && cd /mnt && flock f echo in; echo $?'
#> flock: f: cannot open: state directory /mnt/.f.flock: Read-only file system
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 73
ls -A
#> f
mkdir state
unshare -m sh -c 'mount --bind . /mnt && mount --bind state /media && mount -o remount,bind,ro /mnt && cd /mnt && FLOCK_DIR=/media flock f echo in; echo $?'
#> in
#> 0

### hostile-read-only-with-a-state
# needs: mount root
flock f true
unshare -m sh -c 'mount --bind . /mnt && mount -o remount,bind,ro /mnt && cd /mnt && flock f echo in; echo $?'
#> flock: f: cannot lock: state directory /mnt/.f.flock: Read-only file system
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 73
ls .f.flock
#> free

### hostile-disk-full
# needs: mount root
cat >full.sh <<'END'
# f and the root take two inodes, the state directory three while it is made
mount -t tmpfs -o nr_inodes=2 none /mnt && cd /mnt && : >f || exit
for n in 3 4; do
	mount -o remount,nr_inodes=$n /mnt
	flock f echo in; echo $?; ls -A
done
mount -o remount,nr_inodes=9 /mnt
exec 9>f; flock f true; flock 9; echo $?
mount -o remount,nr_inodes=5 /mnt
flock -n f echo in; echo $?
exec 8>f; flock -s 8; echo $?
# a lock is given back on a full disk
flock -u 9; echo $?
ls -A .f.flock
END
unshare -m bash full.sh
#> flock: f: cannot open: state directory /mnt/.f.flock: No space left on device
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 73
#> f
#> flock: f: cannot open: state directory /mnt/.f.flock: No space left on device
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 73
#> f
#> 0
#> 1
#> flock: 8: cannot lock: state directory /mnt/.f.flock: No space left on device
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 73
#> 0
#> free

### hostile-token-missing
: >f; mkdir .f.flock
for o in '' -n -s '-w .01'; do flock $o f echo in; echo $?; done
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
ls -A .f.flock

### hostile-token-doubled
flock f sh -c 'ls .f.flock | sed -n s/excl/busy/p >id'
: >".f.flock/$(cat id)"
ls .f.flock | sed 's/,.*/,ID/'
#> busy,ID
#> free
flock f echo in 2>&1 | sed 's/busy,[^ ;]*/busy,ID/g'; echo ${PIPESTATUS[0]}
#> flock: f: cannot lock: state directory $DIR/.f.flock: it has more than one token: busy,ID and busy,ID; when nobody uses the lock, remove the directory
#> 65
ls .f.flock | sed 's/,.*/,ID/'
#> busy,ID
#> free
rm -r .f.flock; flock f echo in
#> in

### hostile-names-that-cannot-be-read
flock f true
: >.f.flock/shared,x
flock f echo in; echo $?
#> flock: f: cannot lock: state directory $DIR/.f.flock: cannot read the name "shared,x" as one of version v1; when nobody uses the lock, remove the directory
#> 65
ls .f.flock
#> free
#> shared,x

### hostile-no-threads-for-a-collector
# needs: linux proc
# directory: only

# The collector of the Go runtime starts threads, which ulimit -u may refuse: the runtime then dies. A search in 60,000
# descriptors does without it.
(
	ulimit -n 3100
	for n in {100..3099}; do eval "exec $n</dev/null"; done
	for n in {1..20}; do sleep 100 & done
	bash -c 'exec 9>f; flock 9; sleep 100 & echo $! >pid; exit'
	jobs -p >pids
)
GODEBUG=gctrace=1 flock -n f echo in 2>err; echo $?
#> 1
kill $(cat pid)
GODEBUG=gctrace=1 flock -w 60 f echo in 2>>err # that one may take a while to end
#> in
grep -c '^gc ' err
#> 0
kill $(cat pids)

### hostile-names-of-other-versions

# a later one has a holder, or its token
flock f true
rest=$(flock f sh -c 'ls .f.flock' | sed -n 's/^excl,v1,//p')
[ "$rest" ]
for name in "excl,v2,$rest" "busy,v2,$rest"; do
	case $name in busy*) mv .f.flock/free ".f.flock/$name" ;; *) mkfifo ".f.flock/$name" ;; esac
	flock -n f echo in 2>&1 | sed 's/.*cannot read the name //; s/,[0-9a-f]*,[^"]*/,REST/'; echo ${PIPESTATUS[0]}
	rm -f .f.flock/excl,*
done
#> "excl,v2,REST" as one of version v1; when nobody uses the lock, remove the directory
#> 65
#> "busy,v2,REST" as one of version v1; when nobody uses the lock, remove the directory
#> 65

### hostile-foreign-files
flock f true
: >.f.flock/README; mkdir .f.flock/sub; : >.f.flock/.nfs001; : >".f.flock/a,b
c"
flock f echo in; echo $?
#> in
#> 0
flock -s f flock -n f true; echo $?
#> 1
echo $(ls -A .f.flock)
#> .nfs001 README a,b c free sub

### hostile-staging-is-a-link
: >f; mkdir elsewhere; ln -s elsewhere .f.flock.new
flock f echo in; echo $?
#> flock: f: cannot open: state directory $DIR/.f.flock: .f.flock.new: it is a symbolic link, which is never made here; remove it
#> 65
echo $(ls -A . elsewhere)
#> .: .f.flock.new elsewhere f elsewhere:

### hostile-directory-of-a-directory-unwritable
# needs: root setpriv
mkdir d
setpriv --reuid 65534 --clear-groups flock d echo in; echo $?
#> flock: d: cannot open: state directory $DIR/d/.flock: Permission denied
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 66
ls -A d

### hostile-removed-while-held

# somebody removes the state of a lock that is held: the holder ends as ever, and the next one starts anew
hold f
rm -r .f.flock
release; echo $?
#> 0
flock -n f echo in; echo $?
#> in
#> 0
ls -A .f.flock
#> free

### hostile-killed-with-a-descriptor-of-its-own
flock --fd 9 sh -c ': >has; exec sleep 100' 9>lock & flock=$!
await '[ -e has ]'
kill -9 $flock
flock -n lock echo in; echo $?
#> 1

### hostile-flock-dir-relative

# a relative path would mean a different place in each directory
: >f; mkdir state
for words in 'f echo in' '-n f echo in' '-o f echo in' '-F f echo in' '--holders f' '--fd 9 echo in' '9' '-u 9'; do
	FLOCK_DIR=state flock $words 9<f 2>&1; echo $?
done | sort | uniq -c | sed 's/^ *//'
#> 8 64
#> 8 flock: FLOCK_DIR must be an absolute path: a relative path would mean a different place in each directory: 'state'
echo $(ls -A . state)
#> .: f state state:

### hostile-files-removed-by-a-cleaner
# needs: linux
flock f true
find . -exec touch -h -d '2001-02-03' {} +
find . -type f -mtime +9 -delete
flock f echo in
#> in

### hostile-token-removed-by-a-cleaner
# needs: linux

# The record of the script that has ended would keep others out.
bash -c 'exec 9>f; flock 9'
touch -d '2001-02-03' .f.flock/free
find .f.flock -mindepth 1 -mtime +9 -delete
for o in -s -n; do flock $o f echo in; echo $?; done
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
#> flock: f: cannot lock: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65
rm -r .f.flock
flock f echo in
#> in

### hostile-waiters-killed-beside-a-long-job
hold f
for i in 1 2 3 4 5; do
	flock f true & waiter=$!
	await "[ \"\$(ls .f.flock | sed -n 's/^wait,v1,[^,]*,\([^,]*\),.*/\1/p')\" = $waiter ]" # which has removed the one before
	{ kill -9 $waiter; wait $waiter; } 2>/dev/null
done
ls .f.flock | grep -c ^wait,
#> 1
release

### hostile-holder-that-cannot-be-looked-into
# needs: root setpriv

# Another user cannot see that the descriptor was closed.
: >f; chmod 666 f; chmod 777 .
umask 0
bash -c 'exec 9>>f; flock 9; exec 9>&-; : >closed; exec sleep 100' & holder=$!
await '[ -e closed ]'
setpriv --reuid 65534 --clear-groups flock -w 1.3 f echo in 2>err; echo $?
#> 1
grep -o 'waiting: held by process' err
#> waiting: held by process
flock -w 20 f echo in
#> in
kill $holder; wait

### hostile-directory-that-a-server-has-forgotten
# directory: only
# needs: strace
for call in 1 2; do
	strace -f -qqq -o trace -e trace=mkdirat -e inject=mkdirat:error=ESTALE:when=$call flock f$call echo in
done
#> in
#> in

### hostile-unlock-when-the-record-is-gone
# directory: only
# needs: proc
exec 8>f 9>>f
flags() { cat /proc/$$/fdinfo/$1 | grep flags; }
for n in 8 9; do
	before=$(flags $n)
	flock $n
	[ "$(flags $n)" = "$before" ] && echo it has no mark
	if [ $n = 8 ]; then rm -r .f.flock; else rm .f.flock/excl,*; fi
	flock -u $n; echo $?
	[ "$(flags $n)" = "$before" ] || echo its mark has stayed
done
flock -n f echo free
#> 0
#> 0
#> free

### errors-name-what-failed-for-the-command
# needs: strace
# directory: the command inherits a lifeline
strace -f -qqq -o trace -e trace=dup3 -e inject=dup3:error=EBUSY flock f echo in; echo $?
#> flock: cannot give the command the lock on f: Device or resource busy
#> 71
