What --permits refuses, and with which message.

### permits-numbers
for n in 0 -1 1.5 x '' 99999999999999999999; do
	flock --permits "$n" f echo in; echo $?
done 2>&1 | sed 's/: .*permits.*/: (permits)/'
#> flock: (permits)
#> 64
#> flock: (permits)
#> 64
#> flock: (permits)
#> 64
#> flock: (permits)
#> 64
#> flock: (permits)
#> 64
#> flock: (permits)
#> 64
ls
# nothing was made

### permits-number-missing
flock --permits; echo $?
#> flock: option '--permits' requires an argument
#> Try 'flock --help' for more information.
#> 64

### permits-with-other-modes
for o in -s --shared '-s -n' --fcntl '--start 1' '--length 1'; do
	flock --permits 2 $o f echo in; echo $?
	flock $o --permits 2 f echo in; echo $?
done 2>&1 | sed 's/: .*permits.*/: (permits)/' | uniq -c | sed 's/^ *//' | head -2
#> 1 flock: (permits)
#> 1 64
flock -s --permits 2 f echo in; echo $?
#> flock: --permits cannot be combined with --shared
#> 64

### permits-shared-then-exclusive-is-allowed

# of -s, -x and -u the last one counts
flock -s -x --permits 2 f echo in
#> in

### permits-descriptor-not-writable
: >f
exec 9<f
flock --permits 2 9; echo $?
#native> flock: 9: --permits needs a descriptor that is open for writing
#native> flock: open it as 9>>FILE
#native> 65
#half> flock: 9: --permits needs a descriptor that is open for writing
#half> flock: open it as 9>>FILE
#half> 65
#directory> 0
flock --permits 2 --fd 9 echo in; echo $?
#native> flock: 9: --permits needs a descriptor that is open for writing
#native> flock: open it as 9>>FILE
#native> 65
#half> flock: 9: --permits needs a descriptor that is open for writing
#half> flock: open it as 9>>FILE
#half> 65
#directory> in
#directory> 0
[ $LOCKS = directory ] || flock -n f echo not locked
#native> not locked
#half> not locked

### permits-refused-leave-the-descriptor-no-lock
exec 9<>f
hold --permits 1 f
flock -n --permits 1 9; echo $?
#> 1
flock -w .05 --permits 1 9; echo $?
#> 1
release
flock -n f echo in
#> in

### permits-that-fail-leave-the-descriptor-no-lock
exec 9<>f
FLOCK_DIR=/dev/null/none flock -n --permits 1 9 2>/dev/null || flock -n f echo in
#half> in
#directory> in

### permits-of-a-directory
mkdir d
flock --permits 2 d echo in; echo $?
#native> flock: d: --permits cannot be used with a directory
#native> flock: lock a file in it instead; or, for all who use it, --backend directory
#native> 66
#half> flock: d: --permits cannot be used with a directory
#half> flock: lock a file in it instead; or, for all who use it, --backend directory
#half> 66
#directory> in
#directory> 0
exec 9<d
flock --permits 2 9 2>&1; echo $?
#native> flock: 9: --permits cannot be used with a directory
#native> flock: lock a file in it instead; or, for all who use it, --backend directory
#native> 65
#half> flock: 9: --permits cannot be used with a directory
#half> flock: lock a file in it instead; or, for all who use it, --backend directory
#half> 65
#directory> 0
ls -A d
#directory> .flock

### permits-descriptor-not-open
flock --permits 2 9; echo $?
#> flock: 9: Bad file descriptor
#> flock: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock 9 9>&9
#> 65

### permits-file-not-writable
# needs: root setpriv
: >f; chmod 644 f
setpriv --reuid 65534 --clear-groups flock --permits 2 f echo in; echo $?
#native> flock: cannot open lock file f: Permission denied
#native> 66
#half> flock: cannot open lock file f: Permission denied
#half> 66
#directory> in
#directory> 0

### permits-file-is-made
umask 022
flock --permits 2 f true
ls -l f | cut -c 1-10; wc -c <f | tr -d ' '
#> -rw-r--r--
#> 0

### permits-content-stays
echo content >f
flock --permits 2 f cat f
#> content
cat f
#> content

### permits-what-is-left-beside-the-file
flock --permits 1 f sh -c 'flock -n f true; echo $?; ls -A .'
#> 1
#directory> .f.flock
#half> .f.flock
#> f

### permits-of-the-script-itself
# needs: linux
printf '#!/bin/sh\necho in\n' >script; chmod +x script
flock --permits 2 ./script ./script; echo $?
#native> flock: failed to execute ./script: Text file busy
#native> flock: --permits needs the lock file open for writing, which no file can be that is executed: use a separate lock file, in a script "$0.lock"
#native> 69
#half> flock: failed to execute ./script: Text file busy
#half> flock: --permits needs the lock file open for writing, which no file can be that is executed: use a separate lock file, in a script "$0.lock"
#half> 69
#directory> in
#directory> 0

### permits-of-a-program-that-runs
# needs: linux
cp "$(type -P sleep)" program; ./program 100 & program=$!
await 'grep -qa ^./program /proc/$program/cmdline'
flock --permits 2 program echo in; echo $?
#native> flock: cannot open lock file program: Text file busy
#native> flock: --permits needs the lock file open for writing, which no file can be that is executed: use a separate lock file, in a script "$0.lock"
#native> 66
#half> flock: cannot open lock file program: Text file busy
#half> flock: --permits needs the lock file open for writing, which no file can be that is executed: use a separate lock file, in a script "$0.lock"
#half> 66
#directory> in
#directory> 0
kill $program

### fcntl-of-the-script-itself
# needs: linux
# kernel: no directory lock is meant
printf '#!/bin/sh\necho in\n' >script; chmod +x script
flock --fcntl ./script ./script; echo $?
#> flock: failed to execute ./script: Text file busy
#> flock: an exclusive lock of fcntl(2) needs the lock file open for writing, which no file can be that is executed: use a separate lock file, in a script "$0.lock"
#> 69
flock --fcntl -s ./script ./script
#> in
