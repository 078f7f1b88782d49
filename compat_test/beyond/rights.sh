Set-user-id programs: flock has more rights than its caller.

# kernel: FLOCK_BACKEND is refused, and where a filter hides the locks of the kernel the bits have no effect

### variables-of-the-user-of-a-set-user-id-program
# needs: root setpriv
unset FLOCK_BACKEND
mkdir bin mine; cp -L "$(command -v env)" bin/env; cp -L "$(command -v flock)" bin/flock; chmod 755 . bin; chmod 777 mine
try() { setpriv --reuid 4711 --regid 4711 --clear-groups "$@"; echo $?; }
hold f
for mode in 4755 2755; do
	chmod $mode bin/env
	FLOCK_BACKEND=directory FLOCK_DIR=$PWD/mine try bin/env flock -n f echo in
	FLOCK_BACKEND=auto try bin/env flock -n f echo in
	FLOCK_DIR=$PWD/mine try bin/env flock -n f echo in
	FLOCK_DIR= FLOCK_BACKEND= try bin/env flock -n f echo in
done
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> flock: FLOCK_DIR cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> 1
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> flock: FLOCK_DIR cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
#> 1
chmod 755 bin/env; chmod 4755 bin/flock
FLOCK_BACKEND=directory FLOCK_DIR=$PWD/mine try bin/flock -n f echo in
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
chmod 755 bin/flock
FLOCK_DIR=$PWD/mine try bin/flock -n f echo in
#> 1
ls -A mine
release

### errors-name-what-failed
# needs: root setpriv mount full
unset FLOCK_BACKEND
unshare -m sh -c 'mount -t tmpfs none /dev && exec setpriv --ruid 65534 --clear-groups flock f echo in <&-'; echo $?
#> flock: cannot open /dev/full in the place of the closed descriptor 0: No such file or directory
#> 71
