Errors that a script cannot cause: strace makes single system calls fail.

### open-EMFILE
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EMFILE -P f flock f echo in; echo $?

### open-ENFILE
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=ENFILE -P f flock f echo in; echo $?

### open-ENOMEM
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=ENOMEM -P f flock f echo in; echo $?

### open-EACCES
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EACCES -P f flock f echo in; echo $?

### open-EPERM
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EPERM -P f flock f echo in; echo $?

### open-EIO
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EIO -P f flock f echo in; echo $?

### open-EROFS
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EROFS -P f flock f echo in; echo $?

### open-ENOSPC
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=ENOSPC -P f flock f echo in; echo $?

### open-EDQUOT
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EDQUOT -P f flock f echo in; echo $?

### open-ETXTBSY
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=ETXTBSY -P f flock f echo in; echo $?

### open-EOVERFLOW
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open -e inject=openat,open:error=EOVERFLOW -P f flock f echo in; echo $?

### lock-ENOLCK
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=ENOLCK flock f echo in; echo $?

### lock-ENOMEM
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=ENOMEM flock f echo in; echo $?

### lock-EINVAL
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EINVAL flock f echo in; echo $?

### lock-EPERM
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EPERM flock f echo in; echo $?

### lock-EINTR-once
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EINTR:when=1 flock f echo in; echo $?

### lock-EAGAIN-without-n
# needs: strace
# kernel: single system calls of the kernel's locks are made to fail
for form in '' '-w 5' --verbose '--verbose -w 5'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock $form -E 5 f echo in; echo $?
done

### lock-EACCES
# needs: strace
# since: 2.43
# derived: it takes EACCES for a conflict, whether the call waits or not
# differs: says, too, that a security policy may be why
# kernel: single system calls of the kernel's locks are made to fail
for form in '' '-w 5' --verbose '--verbose -w 5' '-s -n'; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EACCES flock $form -E 5 f echo in; echo $?
done

### lock-errors-without-a-name
# needs: strace
# kernel: single system calls of the kernel's locks are made to fail
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=600 flock f echo in; echo $?

### lock-ENOSYS-of-a-directory
# needs: strace
# kernel: single system calls of the kernel's locks are made to fail
mkdir d
for e in ENOSYS EOPNOTSUPP; do
	strace -f -qqq -o trace -e trace=flock -e inject=flock:error=$e flock d echo in; echo $?
done

### lock-n-EWOULDBLOCK
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EAGAIN flock -n -E 5 f echo in; echo $?

### lock-ENOTSUPP-of-the-kernel
# needs: strace
# kernel: the system calls that fail are those of kernel locks
# differs: Cray DVS answers 524 where it has no such locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=524 flock f echo in; echo $?

### lock-ERESTARTSYS-of-the-kernel
# needs: strace
# kernel: the system calls that fail are those of kernel locks
# differs: FUSE answers 512 when a signal interrupts the call
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc f echo in; echo $?
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=512:when=1..3 flock --exc -w 9 f echo in; echo $?

### lock-EIO-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: strace proc
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}

### lock-EBADF-reopens-for-writing
# starts: the lock call fails, so the file is opened again
# needs: strace proc
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF:when=1 flock --exc f sh -c "grep flags /proc/self/fdinfo/3; ls /proc/self/fd" | tr "\n" " "; echo ${PIPESTATUS[0]}

### lock-EIO-twice
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock f echo in; echo $?

### lock-EBADF-twice
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF flock f echo in; echo $?

### lock-EIO-shared
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock -s f echo in; echo $?

### lock-EBADF-at-the-same-number
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EBADF flock -s f echo in; echo $?
grep -o 'flock(.*' trace | sort -u

### lock-EIO-on-a-number
# needs: strace
# kernel: the system calls that fail are those of kernel locks
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock 9; echo $?

### lock-EIO-in-a-directory
# needs: strace
# kernel: the system calls that fail are those of kernel locks
mkdir d
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EIO flock d echo in; echo $?

### lock-EBADF-read-only-file
# needs: strace root setpriv
# kernel: the system calls that fail are those of kernel locks
umask 0; touch f; chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups strace -f -qqq -o /dev/null -e trace=flock -e inject=flock:error=EBADF flock f echo in; echo $?

### unlock-ENOLCK
# needs: strace
# kernel: the system calls that fail are those of kernel locks
exec 9>f
strace -f -qqq -o trace -e trace=flock -e inject=flock:error=ENOLCK flock -u 9; echo $?

### fork-EAGAIN
# runtime: the Go runtime creates threads before a child, and if it cannot, it dies with a message of its own
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=EAGAIN flock f echo in 2>err; echo $?
grep 'fork failed' err; [ -s err ]; echo $?

### one-lock-call
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock flock f true; grep -c "flock(" trace

### one-lock-call-n-conflict
# needs: strace
# kernel: the system calls that fail are those of kernel locks
hold f
strace -f -qqq -o trace -e trace=flock flock -n f true; echo $?; grep -c "flock(" trace
release

### lock-call-arguments
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock flock -n f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -s f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace
strace -f -qqq -o trace -e trace=flock flock -w 9 f true; sed -n "s/.*\(flock(.*)\) *=/\1/p" trace

### open-call-arguments
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=openat,open flock f true; grep "\"f\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"

### open-call-arguments-directory
# needs: strace
# kernel: the system calls that fail are those of kernel locks
mkdir d
strace -f -qqq -o trace -e trace=openat,open flock d true; grep "\"d\"" trace | sed "s/.*AT_FDCWD, //; s/.*open(//"

### no-unlock-call-at-the-end
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock flock f true; grep -c LOCK_UN trace

### exec-errors
# needs: strace
cp "$(command -v sleep)" cmd
for error in ENOMEM EPERM EIO; do
	strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$error -P ./cmd flock f ./cmd 0; echo $?
done

### exec-errors-no-fork
# needs: strace
cp "$(command -v sleep)" cmd
for error in EAGAIN EMFILE ENFILE ENOMEM EPERM; do
	strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$error -P ./cmd flock -F f ./cmd 0; echo $?
done

### lock-ENOLCK-on-a-network
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -f -qqq -o trace -e trace=flock,fstatfs -e inject=flock:error=ENOLCK -e inject=fstatfs:poke_exit=@arg2=6969000000000000 flock f echo in; echo $?

### timer-ENOSYS
# needs: strace
# kernel: the system calls that fail are those of kernel locks
hold f
strace -f -qqq -o trace -e trace=timer_create -e inject=timer_create:error=ENOSYS flock -w 25 f echo in; echo $?
release

### timer-EOPNOTSUPP
# needs: strace
# kernel: the system calls that fail are those of kernel locks
hold f
strace -f -qqq -o trace -e trace=timer_settime -e inject=timer_settime:error=EOPNOTSUPP flock -w 25 f echo in; echo $?
release

### reopen-ENOSYS
# needs: strace
# kernel: the system calls that fail are those of kernel locks
hold f
strace -f -qqq -o trace -e trace=flock,openat -e inject=flock:error=EBADF -e inject=openat:error=ENOSYS:when=2+ -P f flock f echo in; echo $?
release
