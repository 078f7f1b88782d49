Errors that a script cannot cause: strace makes single system calls fail.

# needs: strace
# kernel: the system calls that fail are those of kernel locks

### open-errors
for e in EMFILE ENFILE ENOMEM EACCES EPERM EIO EROFS ENOSPC EDQUOT ETXTBSY EOVERFLOW; do
	strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=$e -P f flock f echo in; echo $?
done
#> 71
#> 71
#> 71
#> 66
#> 66
#> 66
#> 73
#> 73
#> 66
#> 66
#> 66
#2> flock: cannot open lock file f: Too many open files
#2> flock: cannot open lock file f: Too many open files in system
#2> flock: cannot open lock file f: Cannot allocate memory
#2> flock: cannot open lock file f: Permission denied
#2> flock: cannot open lock file f: Operation not permitted
#2> flock: cannot open lock file f: Input/output error
#2> flock: cannot open lock file f: Read-only file system
#2> flock: cannot open lock file f: No space left on device
#2> flock: cannot open lock file f: Disk quota exceeded
#2> flock: cannot open lock file f: Text file busy
#2> flock: cannot open lock file f: Value too large for defined data type

### lock-errors
for e in ENOLCK ENOMEM EINVAL EPERM EIO EBADF 600; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=$e flock f echo in; echo $?
done
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock -s f echo in; echo $?
#> 71
#> 71
#> 65
#> 65
#> 65
#> 65
#> 65
#> 65
#2> flock: f: No locks available
#2> flock: f: Cannot allocate memory
#2> flock: f: Invalid argument
#2> flock: f: Operation not permitted
#2> flock: f: Input/output error
#2> flock: f: Bad file descriptor
#2> flock: f: Unknown error 600
#2> flock: f: Input/output error

### lock-EINTR-once
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EINTR:when=1 flock f echo in; echo $?
#> in
#> 0

### lock-EAGAIN-without-n
for form in '' '-w 5' --verbose '--verbose -w 5'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock $form -E 5 f echo in; echo $?
done
#> 5
#> 5
#> 5
#> 5
#2> flock: failed to get lock
#2> flock: failed to get lock

### lock-EACCES
# since: 2.43
# derived: it takes EACCES for a conflict, whether the call waits or not
for form in '' '-w 5' --verbose '--verbose -w 5' '-s -n'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EACCES flock $form -E 5 f echo in; echo $?
done
# script: 23175c418e6d
#> 5
#> 5
#> 5
#> 5
#> 5
#2> flock: failed to get lock
#2> flock: failed to get lock
# differs: says, too, that a security policy may be why
#> 5
#> 5
#> 5
#> 5
#> 5
#2> flock: f: Permission denied: a security policy may forbid locks on it
#2> flock: failed to get lock
#2> flock: f: Permission denied: a security policy may forbid locks on it
#2> flock: failed to get lock

### lock-ENOSYS-of-a-directory
mkdir d
for e in ENOSYS EOPNOTSUPP; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=$e flock d echo in; echo $?
done
#> 65
#> 65
#2> flock: d: Function not implemented
#2> flock: d: Operation not supported

### lock-n-EWOULDBLOCK
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock -n -E 5 f echo in; echo $?
#> 5

### lock-ENOTSUPP-of-the-kernel
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=524 flock f echo in; echo $?
#> 65
#2> flock: f: Unknown error 524
# differs: Cray DVS answers 524 where it has no such locks
#> in
#> 0

### lock-ERESTARTSYS-of-the-kernel
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc -w 9 f echo in; echo $?
#> 65
#> 65
#> 65
#2> flock: f: Unknown error 512
#2> flock: f: Unknown error 512
#2> flock: f: Unknown error 512
# differs: FUSE answers 512 when a signal interrupts the call
#> in
#> 0
#> in
#> 0
#> in
#> 0

### lock-EIO-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: proc
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}
#> flags:	0100002 0 1 2 3 4 0

### lock-EBADF-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: proc
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}
#> flags:	0100002 0 1 2 3 4 0

### lock-EBADF-at-the-same-number
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF flock -s f echo in; echo $?
grep -o 'flock(.*' trace | sort -u
#> 65
#> flock(3, LOCK_SH)                 = -1 EBADF (Bad file descriptor) (INJECTED)
#2> flock: f: Bad file descriptor

### lock-EIO-on-a-number
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock 9; echo $?
#> 65
#2> flock: 9: Input/output error

### lock-EIO-in-a-directory
mkdir d
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock d echo in; echo $?
#> 65
#2> flock: d: Is a directory

### lock-EBADF-read-only-file
# needs: root setpriv
umask 0; touch f; chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups strace -f -qqq -o /dev/null -e trace=flock -e inject=flock:error=EBADF flock f echo in; echo $?
#> 65
#2> flock: f: Permission denied

### unlock-ENOLCK
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=ENOLCK flock -u 9; echo $?
#> 71
#2> flock: 9: No locks available

### fork-EAGAIN
# runtime: the Go runtime creates threads before a child, and if it cannot, it dies with a message of its own
strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=EAGAIN flock f echo in 2>err; echo $?
grep 'fork failed' err; [ -s err ]; echo $?
#> 71
#> flock: fork failed: Resource temporarily unavailable
#> 0

### one-lock-call
strace -f -qqq -o trace -e trace=flock flock f true; grep -c "flock(" trace
#> 1

### one-lock-call-n-conflict
hold f
strace -f -qqq -o trace -e trace=flock flock -n f true; echo $?; grep -c "flock(" trace
release
#> 1
#> 1

### lock-call-arguments
strace -f -qqq -o trace -e trace=flock flock -n f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -s f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -w 9 f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
#> flock(3, LOCK_EX|LOCK_NB) 0
#> flock(3, LOCK_SH) 0
#> flock(3, LOCK_EX) 0

### open-call-arguments
strace -f -qqq -o trace -e trace=openat,open flock f true; grep "\"f\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"
#> "f", O_RDONLY|O_CREAT|O_NOCTTY, 0666) = 3

### open-call-arguments-directory
mkdir d
strace -f -qqq -o trace -e trace=openat,open flock d true; grep "\"d\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"
#> "d", O_RDONLY|O_CREAT|O_NOCTTY, 0666) = -1 EISDIR (Is a directory)
#> "d", O_RDONLY|O_NOCTTY) = 3

### no-unlock-call-at-the-end
strace -f -qqq -o trace -e trace=flock flock f true; grep -c LOCK_UN trace
#> 0
#= 1

### lock-ENOLCK-on-a-network
strace -f -qqq -o trace -e trace=flock,fstatfs -e inject=flock:error=ENOLCK -e inject=fstatfs:poke_exit=@arg2=6969000000000000 flock f echo in; echo $?
#> 71
#2> flock: f: No locks available

### timer-ENOSYS
hold f
strace -f -qqq -o trace -e trace=timer_create -e inject=timer_create:error=ENOSYS flock -w 25 f echo in; echo $?
release
#> 71
#2> flock: cannot set up timer: Function not implemented

### timer-EOPNOTSUPP
hold f
strace -f -qqq -o trace -e trace=timer_settime -e inject=timer_settime:error=EOPNOTSUPP flock -w 25 f echo in; echo $?
release
#> 71
#2> flock: cannot set up timer: Operation not supported

### reopen-ENOSYS
hold f
strace -f -qqq -o trace -e trace=flock,openat -e inject=flock:error=EBADF -e inject=openat:error=ENOSYS:when=2+ -P f flock f echo in; echo $?
release
#> 66
#2> strace: Requested path "f" resolved into "$DIR/f"
#2> flock: cannot open lock file f: Function not implemented
