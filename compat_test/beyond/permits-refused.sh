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
# kernel: by directory the file need not be open for writing
: >f
exec 9<f
flock --permits 2 9; echo $?
#> flock: 9: --permits needs a descriptor that is open for writing
#> flock: open it as 9>>FILE
#> 65
flock --permits 2 --fd 9 echo in; echo $?
#> flock: 9: --permits needs a descriptor that is open for writing
#> flock: open it as 9>>FILE
#> 65
flock -n f echo not locked
#> not locked

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
# kernel: by directory the file need not be open for writing
mkdir d
flock --permits 2 d echo in; echo $?
#> flock: d: --permits cannot be used with a directory
#> flock: lock a file in it instead; or, for all who use it, --backend directory
#> 66
exec 9<d
flock --permits 2 9 2>&1; echo $?
#> flock: 9: --permits cannot be used with a directory
#> flock: lock a file in it instead; or, for all who use it, --backend directory
#> 65
ls -A d

### permits-descriptor-not-open
flock --permits 2 9; echo $?
#> flock: 9: Bad file descriptor
#> flock: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock 9 9>&9
#> 65

### permits-file-not-writable
# needs: root setpriv
# kernel: by directory the file need not be open for writing
: >f; chmod 644 f
setpriv --reuid 65534 --clear-groups flock --permits 2 f echo in; echo $?
#> flock: cannot open lock file f: Permission denied
#> 66

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
# kernel: by directory the file need not be open for writing
printf '#!/bin/sh\necho in\n' >script; chmod +x script
flock --permits 2 ./script ./script; echo $?
#> flock: failed to execute ./script: Text file busy
#> flock: --permits must open the lock file for writing, which fails while it is executed: use a separate lock file, in a script "$0.lock"
#> 69

### permits-of-a-program-that-runs
# needs: linux
# kernel: by directory the file need not be open for writing
cp "$BASH" program; mkfifo end
./program -c ': >has; : <end' &
await '[ -e has ]'
flock --permits 2 program echo in; echo $?
#> flock: cannot open lock file program: Text file busy
#> flock: --permits must open the lock file for writing, which fails while it is executed: use a separate lock file, in a script "$0.lock"
#> 66
: >end; wait

### fcntl-of-the-script-itself
# needs: linux
# kernel: no directory lock is meant
printf '#!/bin/sh\necho in\n' >script; chmod +x script
flock --fcntl ./script ./script; echo $?
#> flock: failed to execute ./script: Text file busy
#> flock: an exclusive lock of fcntl(2) must open the lock file for writing, which fails while it is executed: use a separate lock file, in a script "$0.lock"
#> 69
flock --fcntl -s ./script ./script
#> in

### permits-by-directory-need-no-writing
# needs: linux
printf '#!/bin/sh\necho in\n' >script; chmod +x script
flock --backend directory --permits 2 ./script ./script; echo $?
#> in
#> 0
mkdir d
flock --backend directory --permits 2 d echo in; echo $?
#> in
#> 0
exec 9<d
flock --backend directory --permits 2 9; echo $?
#> 0
exec 8<script
flock --backend directory --permits 2 --fd 8 echo in; echo $?
#> in
#> 0
