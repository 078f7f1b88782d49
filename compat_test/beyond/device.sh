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
