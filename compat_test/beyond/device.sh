The directory lock on what is neither a regular file nor a directory.

# directory: only

### device-command
export FLOCK_DIR=$PWD
flock /dev/null sh -c 'flock -n /dev/null echo bad; echo $?; exit 3'; echo $?
#> 1
#> 3
flock -n /dev/null echo in
#> in
for form in -F -o '-w 5' -s '--permits 1' -x; do
	flock $form /dev/null sh -c 'flock -n /dev/null echo bad; echo $?'
done
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1

### device-by-number
export FLOCK_DIR=$PWD
flock 9 9</dev/null; echo $?
#> flock: 9: only the open files of regular files and directories can have a directory lock
#> 65

### device-a-pipe-by-a-name
# needs: linux

# the name leads to what no other path leads to
echo | flock /dev/stdin true; echo $?
#> flock: /dev/stdin: its file was deleted, or has no name here
#> 65
echo | flock --holders /dev/stdin; echo $?
#> flock: cannot tell who holds /dev/stdin: its file was deleted, or has no name here
#> 69
exec 9>f; rm f
flock /dev/fd/9 true; echo $?
#> flock: /dev/fd/9: its file was deleted, or has no name here
#> 65
flock 9; echo $?
#> flock: 9: its file was deleted, or has no name here
#> 65

### device-a-file-below-proc
# needs: linux

# there the kernel does not say that it makes no directory
flock /proc/version true; echo $?
#> flock: /proc/version: cannot open: state directory /proc/.version.flock: No such file or directory
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 65
flock 9 9</proc/version; echo $?
#> flock: 9: cannot open: state directory /proc/.version.flock: No such file or directory
#> flock: FLOCK_DIR, the same for all who use the lock, can name another place for the state directory
#> 65
FLOCK_DIR=$PWD flock /proc/version echo in
#> in
