Little memory, few descriptors, no threads, which are enough for a small C program; and errors of single system calls.
Ours must do this without the Go runtime, or start the runtime to report the error.

### limit-data
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# kernel: the directory lock needs the Go runtime, which needs more memory
exec 9>f
for form in 'g true' '-F g true' '9' '-u 9' '-n 9' '-w 5 -o g true' 'g -c true' '-s -E 4 g true'; do
	(ulimit -d 1000; exec flock $form) 2>/dev/null; echo "$form: $?"
done
#> g true: 0
#> -F g true: 0
#> 9: 0
#> -u 9: 0
#> -n 9: 0
#> -w 5 -o g true: 0
#> g -c true: 0
#> -s -E 4 g true: 0

### limit-address-space
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# kernel: the directory lock needs the Go runtime, which needs more memory
exec 9>f
for form in 'g true' '-F g true' '9' '-u 9' '-n 9' '-w 5 -o g true' 'g -c true' '-s -E 4 g true'; do
	(ulimit -v 6000; exec flock $form) 2>/dev/null; echo "$form: $?"
done
#> g true: 0
#> -F g true: 0
#> 9: 0
#> -u 9: 0
#> -n 9: 0
#> -w 5 -o g true: 0
#> g -c true: 0
#> -s -E 4 g true: 0

### limit-address-space-and-conflict
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# kernel: the directory lock needs the Go runtime, which needs more memory
hold f
(ulimit -v 6000; flock -n -E 5 f true; echo $?; flock -w .1 -E 6 f true; echo $?) 2>/dev/null
release
#> 5
#> 6

### limit-open-files
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# kernel: the directory lock needs the Go runtime, which needs more descriptors
exec 3>f
(ulimit -n 5; flock 3; echo $?; flock -u 3; echo $?; flock -n -s 3; echo $?; flock -w 5 3; echo $?) 2>/dev/null
exec 3>&-
(ulimit -n 5; flock f sh -c 'exit 7'; echo $?; flock -F f sh -c 'exit 7'; echo $?; flock -o f sh -c 'exit 7'; echo $?) 2>/dev/null
#> 0
#> 0
#> 0
#> 0
#> 7
#> 7
#> 7

### limits-of-a-service
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# needs: root setpriv mount proc
# kernel: the directory lock needs the Go runtime, which needs threads
chmod 777 .; : >f; chmod 666 f
cat >service <<-'END'
	mount -t tmpfs none /proc
	while read form; do
		setpriv --reuid 4712 --regid 4712 --clear-groups unshare -U \
			bash -c 'ulimit -u 2 -v 8192 -n 8; exec 5<f; exec flock "$@"' bash $form
		echo "$form: $?"
	done
END
unshare -m bash service <<-'END' 2>err
	f true
	-F f true
	-s -w 5 -o f true
	-n -E 4 5
	-w 5 5
	-u 5
	g -c :
END
cat err
#> f true: 0
#> -F f true: 0
#> -s -w 5 -o f true: 0
#> -n -E 4 5: 0
#> -w 5 5: 0
#> -u 5: 0
#> g -c :: 0

### fork-refused
# runtime: the Go runtime needs memory, descriptors and threads, and dies if it cannot have them
# needs: root setpriv
# kernel: the directory lock needs the Go runtime, which needs threads
chmod 777 .
setpriv --reuid 4711 --regid 4711 --clear-groups bash -c 'ulimit -u 1; exec flock f echo in' 2>err; echo $?; grep 'fork failed' err
setpriv --reuid 4711 --regid 4711 --clear-groups bash -c 'ulimit -u 1; exec flock -o f echo in' 2>err; echo $?; grep 'fork failed' err
setpriv --reuid 4711 --regid 4711 --clear-groups bash -c 'ulimit -u 1; exec flock -F f echo in' 2>err; echo $?
#> 71
#> flock: fork failed: Resource temporarily unavailable
#> 71
#> flock: fork failed: Resource temporarily unavailable
#> in
#> 0

### fork-ENOMEM-and-others
# runtime: the Go runtime creates threads before a child, and if it cannot, it dies with a message of its own
# needs: strace
# kernel: the system calls that fail are those of kernel locks
for e in ENOMEM EPERM ENOSYS ENOSPC EINVAL EUSERS EIO; do
	strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=$e flock f echo in 2>err; echo $?
	grep 'fork failed' err
done
strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=EACCES:when=1 flock f echo in; echo $?
#> 71
#> flock: fork failed: Cannot allocate memory
#> 71
#> flock: fork failed: Operation not permitted
#> 71
#> flock: fork failed: Function not implemented
#> 71
#> flock: fork failed: No space left on device
#> 71
#> flock: fork failed: Invalid argument
#> 71
#> flock: fork failed: Too many users
#> 71
#> flock: fork failed: Input/output error
#> 71
#2> flock: fork failed: Permission denied

### fork-fails-and-nobody-can-be-told
# runtime: the Go runtime creates threads before a child, and if it cannot, it dies with a message of its own
# needs: strace full
# kernel: the system calls that fail are those of kernel locks
fails() { strace -f -qqq -o trace -e trace=clone,clone3,fork,vfork -e inject=clone,clone3,fork,vfork:error=EAGAIN flock f echo in; }
fails 2>/dev/full; echo $?
fails 2>&-; echo $?
#> 1
#> 1

### runtime-settings-in-the-environment
# runtime: the Go runtime uses these variables
# kernel: the directory lock needs the Go runtime, which uses these variables
GOMAXPROCS=0x GODEBUG=schedtrace=1,inittrace=1 GOMEMLIMIT=1 GOGC=off GOTRACEBACK=crash GOCOVERDIR=/nowhere flock f echo in 2>err; echo $?
[ -s err ]; echo $?
#> in
#> 0
#> 1

### timer-cannot-be-made
# needs: strace
# kernel: the system calls that fail are those of kernel locks
for e in EAGAIN ENOSYS ENOMEM; do
	strace -qqq -o trace -e trace=timer_create -e inject=timer_create:error=$e flock -w 5 f echo in; echo $?
done
#> 71
#> 71
#> 71
#2> flock: cannot set up timer: Resource temporarily unavailable
#2> flock: cannot set up timer: Function not implemented
#2> flock: cannot set up timer: Cannot allocate memory

### timer-cannot-be-set
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -qqq -o trace -e trace=timer_settime -e inject=timer_settime:error=EINVAL flock -w 5 f echo in; echo $?
#> 71
#2> flock: cannot set up timer: Invalid argument

### timer-cannot-be-deleted
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -qqq -o trace -e trace=timer_delete -e inject=timer_delete:error=EINVAL flock -w 5 f echo in; echo $?
#> in
#> 0

### timer-signal-before-the-lock-call
# needs: strace
# kernel: the system calls that fail are those of kernel locks
hold f
strace -qqq -o trace -e trace=flock -e inject=flock:delay_enter=300000 flock -w .1 -E 7 f echo in; echo $?
release
#> 7

### timer-and-no-clock
# starts: a clock that only the vDSO may read
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -qqq -o trace -e trace=clock_gettime -e inject=clock_gettime:error=ENOSYS flock -w 5 f echo in; echo $?
hold f
strace -qqq -o trace -e trace=clock_gettime -e inject=clock_gettime:error=ENOSYS flock -w .1 -E 7 f echo in; echo $?
strace -qqq -o trace -e trace=clock_gettime -e inject=clock_gettime:error=ENOSYS:when=2+ flock -w .1 -E 7 f echo in; echo $?
release
#> in
#> 0
#> 7
#> 7

### alarm-at-every-call-of-w
# needs: strace
# kernel: the system calls that fail are those of kernel locks
for call in timer_create timer_settime flock timer_delete wait4; do
	strace -qqq -o trace -e trace=$call -e inject=$call:signal=ALRM:when=1 flock -w 5 f sh -c 'exit 6'; echo "$call $?"
done
#> timer_create 6
#> timer_settime 6
#> flock 6
#> timer_delete 6
#> wait4 6

### waitpid-fails
# needs: strace
# kernel: the system calls that fail are those of kernel locks
strace -qqq -o trace -e trace=wait4 -e inject=wait4:error=ECHILD flock f true; echo $?
strace -qqq -o trace -e trace=wait4 -e inject=wait4:error=EINTR:when=1..3 flock f sh -c 'exit 6'; echo $?
#> 1
#> 6
#2> flock: waitpid failed: No child processes

### execve-fails
# needs: strace
# kernel: the system calls that fail are those of kernel locks
for e in E2BIG ENOMEM ETXTBSY ELOOP EIO EINVAL EISDIR EPERM ENOEXEC ENOENT EACCES; do
	for form in '' -F -o; do
		strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$e -P /bin/true -P /bin/sh flock $form f /bin/true 2>err; echo "$e $form $?"
		grep -v ^strace: err
	done
done
#> E2BIG  69
#> flock: failed to execute /bin/true: Argument list too long
#> E2BIG -F 69
#> flock: failed to execute /bin/true: Argument list too long
#> E2BIG -o 69
#> flock: failed to execute /bin/true: Argument list too long
#> ENOMEM  71
#> flock: failed to execute /bin/true: Cannot allocate memory
#> ENOMEM -F 71
#> flock: failed to execute /bin/true: Cannot allocate memory
#> ENOMEM -o 71
#> flock: failed to execute /bin/true: Cannot allocate memory
#> ETXTBSY  69
#> flock: failed to execute /bin/true: Text file busy
#> ETXTBSY -F 69
#> flock: failed to execute /bin/true: Text file busy
#> ETXTBSY -o 69
#> flock: failed to execute /bin/true: Text file busy
#> ELOOP  69
#> flock: failed to execute /bin/true: Too many levels of symbolic links
#> ELOOP -F 69
#> flock: failed to execute /bin/true: Too many levels of symbolic links
#> ELOOP -o 69
#> flock: failed to execute /bin/true: Too many levels of symbolic links
#> EIO  69
#> flock: failed to execute /bin/true: Input/output error
#> EIO -F 69
#> flock: failed to execute /bin/true: Input/output error
#> EIO -o 69
#> flock: failed to execute /bin/true: Input/output error
#> EINVAL  69
#> flock: failed to execute /bin/true: Invalid argument
#> EINVAL -F 69
#> flock: failed to execute /bin/true: Invalid argument
#> EINVAL -o 69
#> flock: failed to execute /bin/true: Invalid argument
#> EISDIR  69
#> flock: failed to execute /bin/true: Is a directory
#> EISDIR -F 69
#> flock: failed to execute /bin/true: Is a directory
#> EISDIR -o 69
#> flock: failed to execute /bin/true: Is a directory
#> EPERM  69
#> flock: failed to execute /bin/true: Operation not permitted
#> EPERM -F 69
#> flock: failed to execute /bin/true: Operation not permitted
#> EPERM -o 69
#> flock: failed to execute /bin/true: Operation not permitted
#> ENOEXEC  69
#> flock: failed to execute /bin/true: Exec format error
#> ENOEXEC -F 69
#> flock: failed to execute /bin/true: Exec format error
#> ENOEXEC -o 69
#> flock: failed to execute /bin/true: Exec format error
#> ENOENT  69
#> flock: failed to execute /bin/true: No such file or directory
#> ENOENT -F 69
#> flock: failed to execute /bin/true: No such file or directory
#> ENOENT -o 69
#> flock: failed to execute /bin/true: No such file or directory
#> EACCES  69
#> flock: failed to execute /bin/true: Permission denied
#> EACCES -F 69
#> flock: failed to execute /bin/true: Permission denied
#> EACCES -o 69
#> flock: failed to execute /bin/true: Permission denied

### execve-fails-on-path
# needs: strace
# kernel: the system calls that fail are those of kernel locks
mkdir a b; cp /bin/true a/thing; printf '#!/bin/sh\necho b\n' >b/thing; chmod +x b/thing
for e in ESTALE ENODEV ETIMEDOUT ENOTDIR EACCES EIO ELOOP; do
	PATH=a:b:$PATH strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$e -P a/thing flock f thing 2>err; echo "$e $?"
	grep -v ^strace: err
done
#> b
#> ESTALE 0
#> b
#> ENODEV 0
#> b
#> ETIMEDOUT 0
#> b
#> ENOTDIR 0
#> b
#> EACCES 0
#> EIO 69
#> flock: failed to execute thing: Input/output error
#> ELOOP 69
#> flock: failed to execute thing: Too many levels of symbolic links

### execve-fails-in-the-shell-of-c
for form in '' -F -o; do
	SHELL=/no/such/shell flock $form f -c 'echo in'; echo $?
	echo 'echo "$# $1 $2"' >shell; chmod +x shell
	SHELL=./shell flock $form f -c 'a  b'; echo $?
	SHELL=shell PATH=.:$PATH flock $form f -c 'a  b'; echo $?
	chmod -x shell
	SHELL=./shell flock $form f -c 'a  b'; echo $?
	SHELL= flock $form f -c 'echo $0 in'; echo $?
done
#> 69
#> 2 -c a  b
#> 0
#> 2 -c a  b
#> 0
#> 69
#> /bin/sh in
#> 0
#> 69
#> 2 -c a  b
#> 0
#> 2 -c a  b
#> 0
#> 69
#> /bin/sh in
#> 0
#> 69
#> 2 -c a  b
#> 0
#> 2 -c a  b
#> 0
#> 69
#> /bin/sh in
#> 0
#2> flock: failed to execute /no/such/shell: No such file or directory
#2> flock: failed to execute ./shell: Permission denied
#2> flock: failed to execute /no/such/shell: No such file or directory
#2> flock: failed to execute ./shell: Permission denied
#2> flock: failed to execute /no/such/shell: No such file or directory
#2> flock: failed to execute ./shell: Permission denied

### execve-fails-and-a-closed-standard-error
# starts: the message is not in the output, or not all of it
exec 9>f
flock f nothing 2>&-; echo $?
flock -F f nothing 2>&-; echo $?
flock f nothing <&- >&- 2>&-; echo $?
#> 69
#> 69
#> 69

### empty-argument-vector
# needs: python3 linux
python3 - <<'END'
import ctypes, os
lock = next(p for p in (d + '/flock' for d in os.environ['PATH'].split(':')) if os.path.exists(p))
none = (ctypes.c_char_p * 1)(None)
if os.fork() == 0:
    ctypes.CDLL(None).execve(lock.encode(), none, none)
    os._exit(99)
print(os.waitstatus_to_exitcode(os.wait()[1]))
END
#> 64
#2> : not enough arguments
#2> Try ' --help' for more information.

### empty-program-name
# needs: python3
python3 - <<'END'
import os, subprocess
lock = next(p for p in (d + '/flock' for d in os.environ['PATH'].split(':')) if os.path.exists(p))
for words in (['', 'f', 'true'], ['', 'f', 'nothing'], ['a/', 'f', 'nothing'], ['/x/y', '77']):
    print(subprocess.call(words, executable=lock))
END
#> 0
#> 69
#> 69
#> 65
#2> : failed to execute nothing: No such file or directory
#2> : failed to execute nothing: No such file or directory
#2> y: 77: Bad file descriptor
# differs: a second line says what to do
#> 0
#> 69
#> 69
#> 65
#2> : failed to execute nothing: No such file or directory
#2> : failed to execute nothing: No such file or directory
#2> y: 77: Bad file descriptor
#2> y: is descriptor 77 open?

### environment-with-duplicates
# needs: python3
mkdir a b; printf '#!/bin/sh\necho a\n' >a/thing; printf '#!/bin/sh\necho b\n' >b/thing; chmod +x ?/thing
python3 - <<'END'
import ctypes, os
lock = next(p for p in (d + '/flock' for d in os.environ['PATH'].split(':')) if os.path.exists(p))
def run(argv, entries):
    vector = lambda items: (ctypes.c_char_p * (len(items) + 1))(*items, None)
    if os.fork() == 0:
        ctypes.CDLL(None).execve(lock.encode(), vector(argv), vector(entries))
        os._exit(99)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
run([b'flock', b'f', b'thing'], [b'PATH=a', b'PATH=b'])
run([b'flock', b'f', b'thing'], [b'PATH', b'PATHS=a', b'PATH=b', b'PATH=a'])
run([b'flock', b'f', b'thing'], [b'XPATH=a'])
run([b'flock', b'f', b'-c', b'echo $0'], [b'SHELL=', b'SHELL=/no/shell'])
run([b'flock', b'f', b'-c', b'echo $0'], [b'SHELLS=/no/shell', b'SHELL=sh', b'PATH=/bin'])
run([b'flock', b'f', b'-c', b'echo $0'], [b''])
END
#> a
#> 0
#> b
#> 0
#> 69
#> /bin/sh
#> 0
#> sh
#> 0
#> /bin/sh
#> 0
#2> flock: failed to execute thing: No such file or directory

### environment-of-the-largest-size
# needs: python3 linux
python3 - <<'END'
import os, subprocess
env = {'PATH': os.environ['PATH']}
env.update(('V%d' % i, 'x' * 100000) for i in range(14))
print(subprocess.call(['flock', 'f', 'sh', '-c', 'echo ${#V13}'], env=env))
print(subprocess.call(['flock', 'f', 'sh', '-c', 'exit $#'] + ['w'] * 50000, env=env))
END
#> 100000
#> 0
#> 79

### path-of-the-largest-size
long=$(printf '%0250d' 0)
path=
for i in $(seq 400); do path=$path/$long:; done
PATH=$path$PATH flock f echo found; echo $?
lock=$(command -v flock)
PATH=$path "$lock" f nothing; echo $?
#> found
#> 0
#> 69
#2> flock: failed to execute nothing: No such file or directory

### command-with-a-name-too-long
flock f "$(printf '%0255d' 0)" 2>&1 | sed s/0000*/N/; echo ${PIPESTATUS[0]}
flock f "$(printf '%0256d' 0)" 2>&1 | sed s/0000*/N/; echo ${PIPESTATUS[0]}
lock=$(command -v flock)
PATH=/no/such/directory "$lock" f "$(printf '%0256d' 0)" 2>&1 | sed s/0000*/N/; echo ${PIPESTATUS[0]}
#> flock: failed to execute N: No such file or directory
#> 69
#> flock: failed to execute N: File name too long
#> 69
#> flock: failed to execute N: No such file or directory
#> 69

### program-with-rights-of-another-user
# starts: more privileges than the caller
# needs: root setpriv
# kernel: the directory lock cannot be made in a directory of another user
unset FLOCK_BACKEND # which is refused then
mkdir bin; cp -L "$(command -v flock)" bin/flock; chmod 4755 bin/flock; chmod 755 .
setpriv --reuid 4711 --regid 4711 --clear-groups bin/flock f id -un; echo $?
#> root
#> 0
