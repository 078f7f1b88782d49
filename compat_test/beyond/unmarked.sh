The directory lock where open files cannot be marked: it is that of the command's process, which is made before it runs. All
other systems are so; on Linux only files that are neither regular nor directories are.

# directory: only

### unmarked-command
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

### unmarked-the-lock-is-the-commands
export FLOCK_DIR=$PWD
flock /dev/null sh -c 'echo $$ >pid; flock --holders /dev/null >holders; : >has; until [ -e go ]; do sleep .01; done' & flock=$!
await '[ -e has ]'
[ "$(cut -d" " -f 1 holders)" = "$(cat pid)" ] && echo "the command's"
#> the command's
kill -9 $flock; wait $flock 2>/dev/null
flock -n /dev/null echo bad; echo $?
#> 1
: >go
flock -w 10 /dev/null echo in
#> in

### unmarked-flock-killed-before-the-command-runs

# Whoever waits is killed before it has the lock: its command never runs.
export FLOCK_DIR=$PWD
flock /dev/null sh -c ': >has; until [ -e go ]; do sleep .01; done' & holder=$!
await '[ -e has ]'
flock /dev/null sh -c ': >ran' & waiter=$!
await 'flock --holders /dev/null | grep -q waiting'
kill -9 $waiter; wait $waiter 2>/dev/null
: >go; wait $holder
flock -w 10 /dev/null echo in; ls ran
#> in
#> ls: cannot access 'ran': No such file or directory

### unmarked-command-that-cannot-run
export FLOCK_DIR=$PWD
flock /dev/null ./missing; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69
flock -n /dev/null echo in
#> in

### unmarked-killed-command
export FLOCK_DIR=$PWD
flock /dev/null sh -c 'kill -TERM $$'; echo $?
#> 143
flock -n /dev/null echo in
#> in

### unmarked-number
export FLOCK_DIR=$PWD
sh -c 'exec 9</dev/null; flock 9; flock -n /dev/null echo bad; echo $?; flock -u 9; flock -n /dev/null echo free; flock 9; :'
#> 1
#> free
flock -n /dev/null echo in
#> in
