Errors that a script cannot cause: strace makes single system calls fail.

# needs: strace
# kernel: the system calls that fail are those of kernel locks

### open-errors
for e in EMFILE ENFILE ENOMEM EACCES EPERM EIO EROFS ENOSPC EDQUOT ETXTBSY EOVERFLOW; do
	strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=$e -P f flock f echo in; echo $?
done

### lock-errors
for e in ENOLCK ENOMEM EINVAL EPERM EIO EBADF 600; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=$e flock f echo in; echo $?
done
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock -s f echo in; echo $?

### lock-EINTR-once
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EINTR:when=1 flock f echo in; echo $?

### lock-EAGAIN-without-n
for form in '' '-w 5' --verbose '--verbose -w 5'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock $form -E 5 f echo in; echo $?
done

### lock-EACCES
# since: 2.43
# derived: it takes EACCES for a conflict, whether the call waits or not
# differs: says, too, that a security policy may be why
for form in '' '-w 5' --verbose '--verbose -w 5' '-s -n'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EACCES flock $form -E 5 f echo in; echo $?
done

### lock-ENOSYS-of-a-directory
mkdir d
for e in ENOSYS EOPNOTSUPP; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=$e flock d echo in; echo $?
done

### lock-n-EWOULDBLOCK
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock -n -E 5 f echo in; echo $?

### lock-ENOTSUPP-of-the-kernel
# differs: Cray DVS answers 524 where it has no such locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=524 flock f echo in; echo $?

### lock-ERESTARTSYS-of-the-kernel
# differs: FUSE answers 512 when a signal interrupts the call
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc -w 9 f echo in; echo $?

### lock-EIO-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: proc
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}

### lock-EBADF-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: proc
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}

### lock-EBADF-at-the-same-number
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF flock -s f echo in; echo $?
grep -o 'flock(.*' trace | sort -u

### lock-EIO-on-a-number
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock 9; echo $?

### lock-EIO-in-a-directory
mkdir d
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock d echo in; echo $?

### lock-EBADF-read-only-file
# needs: root setpriv
umask 0; touch f; chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups strace -f -qqq -o /dev/null -e trace=flock -e inject=flock:error=EBADF flock f echo in; echo $?

### unlock-ENOLCK
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=ENOLCK flock -u 9; echo $?

### fork-EAGAIN
# runtime: the Go runtime creates threads before a child, and if it cannot, it dies with a message of its own
strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=EAGAIN flock f echo in 2>err; echo $?
grep 'fork failed' err; [ -s err ]; echo $?

### one-lock-call
strace -f -qqq -o trace -e trace=flock flock f true; grep -c "flock(" trace

### one-lock-call-n-conflict
hold f
strace -f -qqq -o trace -e trace=flock flock -n f true; echo $?; grep -c "flock(" trace
release

### lock-call-arguments
strace -f -qqq -o trace -e trace=flock flock -n f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -s f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -w 9 f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace

### open-call-arguments
strace -f -qqq -o trace -e trace=openat,open flock f true; grep "\"f\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"

### open-call-arguments-directory
mkdir d
strace -f -qqq -o trace -e trace=openat,open flock d true; grep "\"d\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"

### no-unlock-call-at-the-end
strace -f -qqq -o trace -e trace=flock flock f true; grep -c LOCK_UN trace

### lock-ENOLCK-on-a-network
strace -f -qqq -o trace -e trace=flock,fstatfs -e inject=flock:error=ENOLCK -e inject=fstatfs:poke_exit=@arg2=6969000000000000 flock f echo in; echo $?

### timer-ENOSYS
hold f
strace -f -qqq -o trace -e trace=timer_create -e inject=timer_create:error=ENOSYS flock -w 25 f echo in; echo $?
release

### timer-EOPNOTSUPP
hold f
strace -f -qqq -o trace -e trace=timer_settime -e inject=timer_settime:error=EOPNOTSUPP flock -w 25 f echo in; echo $?
release

### reopen-ENOSYS
hold f
strace -f -qqq -o trace -e trace=flock,openat -e inject=flock:error=EBADF -e inject=openat:error=ENOSYS:when=2+ -P f flock f echo in; echo $?
release
