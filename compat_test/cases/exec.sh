How the command is found and started, and what its end means for the exit status.

### status-in-every-form
flock f true; echo $?
flock f false; echo $?
flock f -c 'exit 19'; echo $?
for option in -F -o '-n -E 5'; do flock $option f sh -c 'exit 19'; echo $?; done
#> 0
#> 1
#> 19
#> 19
#> 19
#> 19

### status-every
for s in 0 1 2 42 63 64 65 66 69 71 73 99 125 126 127 128 129 137 200 254 255; do
	flock f sh -c "exit $s"; [ $? = $s ] || echo "$s became $?"
done
#= 0

### status-of-a-killed-command
for s in HUP INT KILL USR1 SEGV USR2 PIPE ALRM TERM; do
	(ulimit -c 0; flock f sh -c "kill -$s \$\$"; echo "$s $(($? - $(kill -l $s)))")
done
#> HUP 128
#> INT 128
#> KILL 128
#> USR1 128
#> SEGV 128
#> USR2 128
#> PIPE 128
#> ALRM 128
#> TERM 128

### status-of-a-real-time-signal
# needs: linux
flock f sh -c 'kill -34 $$'; echo $?
flock f bash -c 'kill -64 $$'; echo $?
#> 162
#> 192

### status-killed-no-fork-is-a-signal
# needs: python3
python3 -c "import signal, subprocess
print(subprocess.call(['flock', '-F', 'f', 'sh', '-c', 'kill -USR1 \$\$']) + signal.SIGUSR1)"
#> 0

### status-killed-is-an-exit-otherwise
# needs: python3
python3 -c "import signal, subprocess
print(subprocess.call(['flock', 'f', 'sh', '-c', 'kill -USR1 \$\$']) - signal.SIGUSR1)"
#> 128

### status-command-dumps-core
(ulimit -c 0; flock f sh -c 'kill -ABRT $$'; echo $?)
#> 134

### status-of-a-stopped-command-is-awaited
# needs: states
flock f sh -c 'echo $$ >pid; kill -STOP $$; exit 5' &
await '[ -s pid ] && stopped $(cat pid)'
flock -n f true; echo $?
kill -CONT "$(cat pid)"
wait $!; echo $?
#> 1
#> 5

### not-found
for command in no-such-command ./no-such-command no/such/command; do flock f $command; echo $?; done
flock -F f no-such-command; echo $?
flock f ''; echo $?
#> 69
#> 69
#> 69
#> 69
#> 69
#2> flock: failed to execute no-such-command: No such file or directory
#2> flock: failed to execute ./no-such-command: No such file or directory
#2> flock: failed to execute no/such/command: No such file or directory
#2> flock: failed to execute no-such-command: No such file or directory
#2> flock: failed to execute : No such file or directory

### not-found-c-is-the-shells-business
flock f -c no-such-command 2>/dev/null; echo $?
#> 127

### not-found-verbose
flock --verbose f no-such-command; echo $?
#> flock: getting lock took N seconds
#> flock: executing no-such-command
#> 69
#2> flock: failed to execute no-such-command: No such file or directory

### not-found-releases
flock f no-such-command 2>/dev/null
ls
flock -n f echo in; echo $?
#> f
#> in
#> 0

### command-is-a-directory
mkdir d
flock f ./d; echo $?
flock f /; echo $?
#> 69
#> 69
#2> flock: failed to execute ./d: Permission denied
#2> flock: failed to execute /: Permission denied

### command-is-a-directory-on-path
mkdir -p bin/thing
PATH=$PWD/bin:$PATH flock f thing; echo $?
#> 69
#2> flock: failed to execute thing: Permission denied

### command-not-executable
echo 'echo hi' >cmd
flock f ./cmd; echo $?
#> 69
#2> flock: failed to execute ./cmd: Permission denied
# differs: a second line says what to do
#> 69
#2> flock: failed to execute ./cmd: Permission denied
#2> flock: it is not executable: chmod +x ./cmd, or give its interpreter: sh ./cmd

### command-not-executable-on-path
mkdir bin
echo 'echo hi' >bin/thing
PATH=$PWD/bin:$PATH flock f thing; echo $?
#> 69
#2> flock: failed to execute thing: Permission denied

### path-goes-on
mkdir -p not-executable directory/thing b
echo 'echo a' >not-executable/thing
touch file
ln -s loop loop
printf '#!/bin/sh\necho b\n' >b/thing; chmod +x b/thing
for part in $PWD/not-executable $PWD/directory $PWD/file $PWD/loop /$(printf '%0300d' 0); do
	PATH=$part:$PWD/b:$PATH flock f thing; echo $?
done
#> b
#> 0
#> b
#> 0
#> b
#> 0
#> 69
#> 69
#2> flock: failed to execute thing: Too many levels of symbolic links
#2> flock: failed to execute thing: File name too long

### path-first-wins
mkdir a b
printf '#!/bin/sh\necho a\n' >a/thing; chmod +x a/thing
printf '#!/bin/sh\necho b\n' >b/thing; chmod +x b/thing
PATH=$PWD/a:$PWD/b:$PATH flock f thing
#> a

### path-relative-component
mkdir a
printf '#!/bin/sh\necho a\n' >a/thing; chmod +x a/thing
PATH=a:$PATH flock f thing
#> a

### path-empty-component
printf '#!/bin/sh\necho here\n' >thing; chmod +x thing
for path in ":$PATH" "$PATH:" "/nowhere::$PATH" ".:$PATH"; do PATH=$path flock f thing; echo $?; done
#> here
#> 0
#> here
#> 0
#> here
#> 0
#> here
#> 0

### path-empty
printf '#!/bin/sh\necho here\n' >thing; chmod +x thing
lock=$(command -v flock)
PATH= "$lock" f thing; echo $?
PATH= "$lock" f ls; echo $?
#> here
#> 0
#> 69
#2> flock: failed to execute ls: No such file or directory

### path-unset
lock=$(command -v flock)
(unset PATH; "$lock" f sh -c 'echo found'); echo $?
printf '#!/bin/sh\necho here\n' >thing; chmod +x thing
(unset PATH; "$lock" f thing); echo $?
#> found
#> 0
#> 69
#2> flock: failed to execute thing: No such file or directory
# differs: a second line says what to do
#> found
#> 0
#> 69
#2> flock: failed to execute thing: No such file or directory
#2> flock: the current directory is not in PATH: did you mean ./thing?

### path-not-for-a-name-with-slash
mkdir -p bin/sub
printf '#!/bin/sh\necho found\n' >bin/sub/thing; chmod +x bin/sub/thing
PATH=$PWD/bin:$PATH flock f sub/thing; echo $?
#> 69
#2> flock: failed to execute sub/thing: No such file or directory

### path-current-directory-not-searched
printf '#!/bin/sh\necho here\n' >thing; chmod +x thing
flock f thing; echo $?
#> 69
#2> flock: failed to execute thing: No such file or directory
# differs: a second line says what to do
#> 69
#2> flock: failed to execute thing: No such file or directory
#2> flock: the current directory is not in PATH: did you mean ./thing?

### path-permission-denied-is-reported-at-the-end
mkdir a b
echo 'echo a' >a/thing
PATH=$PWD/a:$PWD/b:$PATH flock f thing; echo $?
#> 69
#2> flock: failed to execute thing: Permission denied

### path-unsearchable-directory
# needs: root setpriv
mkdir a b
chmod 700 a
printf '#!/bin/sh\necho b\n' >b/thing; chmod +x b/thing
PATH=$PWD/a:$PWD/b:$PATH setpriv --reuid 65534 --regid 65534 --clear-groups flock f thing; echo $?
#> b
#> 0

### path-unsearchable-directory-only
# needs: root setpriv
mkdir a
chmod 700 a
PATH=$PWD/a:$PATH setpriv --reuid 65534 --regid 65534 --clear-groups flock f thing; echo $?
#> 69
#2> flock: failed to execute thing: Permission denied

### script-without-interpreter-line
echo 'echo "script $0 $*"' >s; chmod +x s
flock f ./s a 'b c'; echo $?
#> script ./s a b c
#> 0

### script-without-interpreter-line-on-path
mkdir bin
echo 'echo "script $*"' >bin/s; chmod +x bin/s
PATH=$PWD/bin:$PATH flock f s a; echo $?
#> script a
#> 0

### script-without-interpreter-line-runs-in-sh
# needs: proc
echo 'tr "\0" " " </proc/$$/cmdline' >s; chmod +x s
SHELL=$(command -v bash) flock f ./s a b; echo
#> /bin/sh ./s a b 

### script-without-interpreter-line-and-status
echo 'exit 23' >s; chmod +x s
flock f ./s; echo $?
flock -F f ./s; echo $?
#> 23
#> 23

### script-empty
: >s; chmod +x s
flock f ./s; echo $?
#> 0

### script-with-missing-interpreter
printf '#!/no/such/interpreter\n' >s; chmod +x s
flock f ./s; echo $?
#> 69
#2> flock: failed to execute ./s: No such file or directory
# differs: a second line says what to do
#> 69
#2> flock: failed to execute ./s: No such file or directory
#2> flock: it is there, but its interpreter /no/such/interpreter is not

### script-with-missing-interpreter-on-path
mkdir a b
printf '#!/no/such/interpreter\n' >a/s; chmod +x a/s
printf '#!/bin/sh\necho b\n' >b/s; chmod +x b/s
PATH=$PWD/a:$PWD/b:$PATH flock f s; echo $?
#> b
#> 0

### script-binary-rubbish
head -c 64 /dev/zero >s; chmod +x s
sh ./s >/dev/null 2>&1; status=$?
flock f ./s >/dev/null 2>&1; echo $(($? - status))
#> 0

### script-truncated-elf
# needs: linux
head -c 100 "$(type -P ls)" >s; chmod +x s
sh ./s 2>/dev/null; status=$?
flock f ./s 2>/dev/null; echo $(($? - status))
#> 0

### argv0-of-the-command
# needs: proc
flock f sh -c 'tr "\0" "\n" </proc/$$/cmdline' x y
#> sh
#> -c
#> tr "\0" "\n" </proc/$$/cmdline
#> x
#> y

### argv0-is-as-typed
# needs: proc
cp "$(command -v sleep)" ./mysleep
flock f ./mysleep 30 &
await 'p=$(cat /proc/$!/task/$!/children) && [ -n "$p" ] && tr "\0" " " </proc/${p% }/cmdline | grep -q ^./mysleep'
tr '\0' ' ' </proc/${p% }/cmdline; echo
kill ${p% }
wait $!; echo $?
#> ./mysleep 30 
#> 143

### no-fork-is-the-same-process
flock -F f sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?
#> 0

### fork-is-a-child
# needs: proc
flock f sh -c 'cat /proc/$PPID/comm'
#> flock

### no-fork-holds
flock -F f sh -c 'flock -n f echo in; echo $?'
flock -n f echo in; echo $?
#> 1
#> in
#> 0

### no-fork-c
flock -F f -c 'echo hi; exit 4'; echo $?
#> hi
#> 4

### no-fork-conflict
hold f
flock -F -n -E 4 f echo in; echo $?
release
#> 4

### no-fork-directory
mkdir d
flock -F d sh -c 'flock -n d echo in; echo $?'
#> 1

### command-reads-stdin
echo input | flock f cat
#> input

### command-writes-both
flock f sh -c 'echo out; echo err >&2' 2>err
cat err
#> out
#> err

### command-in-background-does-not-delay
flock f sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done & exit 3'; echo $?
announce go
#> 3

### child-of-the-caller-is-not-awaited
bash -c 'until [ -e go ]; do read _ <../wake.go || exit; done & exec flock f sh -c "exit 6"'; echo $?
announce go
#> 6

### found-with-the-effective-user
# starts: more privileges than the caller
# kernel: FLOCK_BACKEND is refused then
# needs: setpriv root
unset FLOCK_BACKEND
mkdir -m 700 private; cp "$(type -P bash)" private/cmd
setpriv --ruid 65534 --clear-groups flock f ./private/cmd -c 'echo ran'; echo $?
#> ran
#> 0

### path-with-a-part-too-long
PATH=/$(printf %05000d 0):$PATH flock f echo found
#> found

### no-fork-not-found-with-stderr-full
# starts: the message is not in the output, or not all of it
# needs: full
flock -F f nothing 2>/dev/full; echo $?
#> 69

### path-of-files-says-so
lock=$(command -v flock)
for path in /etc/passwd /etc/passwd:/etc/hosts /etc/passwd:/usr/bin /usr/bin:/etc/passwd; do
	PATH=$path "$lock" f no-such-command; echo $?
	PATH=$path "$lock" -F f no-such-command; echo $?
done
#> 69
#> 69
#> 69
#> 69
#> 69
#> 69
#> 69
#> 69
#2> flock: failed to execute no-such-command: Not a directory
#2> flock: failed to execute no-such-command: Not a directory
#2> flock: failed to execute no-such-command: Not a directory
#2> flock: failed to execute no-such-command: Not a directory
#2> flock: failed to execute no-such-command: No such file or directory
#2> flock: failed to execute no-such-command: No such file or directory
#2> flock: failed to execute no-such-command: Not a directory
#2> flock: failed to execute no-such-command: Not a directory

### path-of-files-and-not-executable
mkdir a; echo 'echo a' >a/thing
lock=$(command -v flock)
PATH=a:/etc/passwd "$lock" f thing; echo $?
PATH=/etc/passwd:a:no "$lock" f thing; echo $?
#> 69
#> 69
#2> flock: failed to execute thing: Permission denied
#2> flock: failed to execute thing: Permission denied

### path-of-files-and-a-part-too-long
lock=$(command -v flock)
PATH=/etc/passwd:/$(printf %05000d 0) "$lock" f thing; echo $?
#> 69
#2> flock: failed to execute thing: Not a directory

### exec-errors
# needs: strace
cp "$(command -v sleep)" cmd
for error in ENOMEM EPERM EIO; do
	strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$error -P ./cmd flock f ./cmd 0; echo $?
done
#> 71
#> 69
#> 69
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Cannot allocate memory
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Operation not permitted
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Input/output error

### exec-errors-no-fork
# needs: strace
cp "$(command -v sleep)" cmd
for error in EAGAIN EMFILE ENFILE ENOMEM EPERM; do
	strace -f -qqq -o trace -e trace=execve -e inject=execve:error=$error -P ./cmd flock -F f ./cmd 0; echo $?
done
#> 69
#> 69
#> 69
#> 71
#> 69
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Resource temporarily unavailable
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Too many open files
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Too many open files in system
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Cannot allocate memory
#2> strace: Requested path "./cmd" resolved into "$DIR/cmd"
#2> flock: failed to execute ./cmd: Operation not permitted
