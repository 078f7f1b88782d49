--cooldown in the other forms, under kill -9, and when it cannot be set.

### cooldown-string
flock --cooldown 600 f -c 'echo in'
#> in
flock -n --cooldown 600 f -c 'echo in'; echo $?
#> 1

### cooldown-close
flock -o --cooldown 600 f bash -c 'mtime f; sleep .02' >start
[ "$(cat start)" != "$(mtime f)" ] && echo set again
#> set again
flock -n -o --cooldown 600 f echo in; echo $?
#> 1

### cooldown-shared
flock -s --cooldown 600 f echo in; echo $?
#> flock: --cooldown cannot be combined with --shared or --permits
#> 64
ls

### cooldown-of-a-directory
mkdir d
flock --cooldown 600 d echo in; echo $?
#> in
#> 0
[ $(mtime d | cut -d. -f1) -gt $(date +%s) ] && echo set
#> set
flock -n --cooldown 600 d echo in; echo $?
#> 1

### cooldown-no-fork

# set only when the lock is got
flock -F --cooldown 600 f bash -c 'mtime f; sleep .02' >start
[ "$(cat start)" = "$(mtime f)" ] && echo set once
#> set once
flock -n -F --cooldown 600 f echo in; echo $?
#> 1

### cooldown-number
exec 9>>f
flock --cooldown 600 9; echo $?
#> 0
mtime f >start
[ $(mtime f | cut -d. -f1) -gt $(date +%s) ] && echo set
#> set
flock -u 9
[ "$(cat start)" = "$(mtime f)" ] && echo as it was
#> as it was
flock -n --cooldown 600 9; echo $?
#> 1
flock -n 9; echo $?
#> 0

### cooldown-number-of-a-file-that-is-emptied
job() {
	flock -n --cooldown 600 9 || return
	echo in
}
for i in 1 2; do job 9>f; done 2>&1
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
#> in
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
#> in
for open in '9>>f' '9<>f' '9<f'; do
	touch_in -1 f
	for i in 1 2; do eval "job $open"; done
done 2>&1
#> in
#> in
#> in

# In the other forms, too. It is no error: who opens it once has a cooldown.
exec 9>f
flock --fd 9 --cooldown 600 echo in
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
#> in
flock -u --cooldown 600 9
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
flock -n --cooldown 600 9; echo $?
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
#> 1
flock -n 9; flock -n --cooldown 0 9

### cooldown-number-of-a-file-that-each-shell-empties
# needs: dash zsh busybox
each_shell '( flock -n --cooldown 600 9 && echo in ) 9>f 2>&1'
#> flock: '9>FILE' ends the cooldown: open it as 9>>FILE
#> in

### cooldown-number-of-a-file-open-for-reading
: >f; touch_in -60 f
exec 9<f
flock --cooldown 600 9; echo $?
#> 0
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-number-unlock
exec 9>>f
touch_in -60 f
flock 9
flock -u --cooldown 600 9; echo $?
#> 0
flock -n f echo free
#> free
[ $(mtime f | cut -d. -f1) -gt $(date +%s) ] && echo set
#> set
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-number-refused-leaves-nothing-locked
exec 9>>f
touch_in 3600 f
flock -n --cooldown 600 9; echo $?
#> 1
flock -w .05 --cooldown 600 9; echo $?
#> 1
flock -n f echo free
#> free

### cooldown-fd-option
exec 9>>f
touch_in -60 f
flock --cooldown 600 --fd 9 bash -c 'mtime f; sleep .02' >start
[ "$(cat start)" != "$(mtime f)" ] && echo set again
#> set again
flock -u 9
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-flock-killed

# The command goes on under the lock. Who is dead cannot set the time at the end; that of the start stands.
flock --cooldown 600 f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e has ]'
kill -9 $!; wait $!
flock -n f echo in; echo $?
#> 1
announce go
await 'flock -n f true'
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-command-killed
flock --cooldown 600 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $(cat pid)
wait $!; echo $?
#> 137
flock -n f echo the lock is free
#> the lock is free
flock -n --cooldown 600 f echo in; echo $?
#> 1

### cooldown-both-killed
flock --cooldown 600 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $! $(cat pid); wait $!
await 'flock -n f true'
flock -n --cooldown 600 f echo in; echo $?
#> 1
touch f
flock -n --cooldown 600 f echo in
#> in

### cooldown-clock-set-back

# which is the same as an end further away: it does not end early
flock --cooldown 1 f true
touch_in 7200 f
flock -n --cooldown 1 f echo in; echo $?
#> 1
touch f
flock -n --cooldown 1 f echo in
#> in

### cooldown-far-future
: >f; touch -t 220001010000 f
flock -n --cooldown 1 f echo in; echo $?
#> 1
flock -w .05 --cooldown 1 f echo in; echo $?
#> 1
mtime f
#> 7258118400.000000000

### cooldown-of-somebody-elses-file
# needs: root setpriv
: >f; chmod 666 f; touch -t 200102030000 f
setpriv --reuid 65534 --clear-groups flock --cooldown 600 f echo in; echo $?
#> flock: cannot set the cooldown of f: Operation not permitted
#> 71
setpriv --reuid 65534 --clear-groups flock --cooldown 600 --cooldown-from success f echo in; echo $?
#> flock: cannot set the cooldown of f: Operation not permitted
#> 71
mtime f
#> 981158400.000000000
flock -n f echo free
#> free

### cooldown-of-a-file-given-away-meanwhile
# needs: root setpriv
: >f; chown 65534 f; touch_in -60 f
setpriv --reuid 65534 --clear-groups flock --cooldown 600 f sh -c 'echo in; : >has; until [ -e go ]; do read _ <../wake.go || exit; done; exit 5' &
await '[ -e has ]'
chown 0 f; chmod 644 f
mtime f >start
announce go
wait $!; echo $?
#> in
#> flock: cannot set the cooldown of f: Operation not permitted
#> 5
[ "$(cat start)" = "$(mtime f)" ] && echo that of the start still stands
#> that of the start still stands

### cooldown-the-lock-is-not-held-while-waiting

# whoever does not ask for the cooldown finds the lock free at any moment
flock --cooldown 600 f true
for i in 1 2 3 4 5 6 7 8; do flock --cooldown 600 f true & done
for i in {1..50}; do flock -n f true || echo "taken at $i"; done
kill $(jobs -p)

### cooldown-kept-until-it-is-set
# needs: proc

# between the end of the command and the setting of the cooldown nobody gets in, whoever else comes and goes
flock --cooldown .01 f sh -c 'echo $$ >pid; exec sleep 100' & flock=$!
await '[ -s pid ]'
kill -STOP $flock
await 'grep -q "^State:.T" /proc/$flock/status'
kill $(cat pid)
await 'grep -q "^State:.Z" /proc/$(cat pid)/status'
await '[[ $(mtime f) < $EPOCHREALTIME ]]'
flock -n f echo in; echo $?
#> 1
flock -n --cooldown 600 f echo in; echo $?
#> 1
flock -w .1 f echo in; echo $?
#> 1
flock -n f echo in; echo $?
#> 1
kill -CONT $flock; wait $flock; echo $?
#> 143
flock -n f echo in
#> in

### cooldown-is-set-by-descriptor-under-the-lock
# needs: strace linux
# kernel: the directory lock does the same

# Who makes the file, too, sets no time before it has the lock: that could end the cooldown of another.
strace -qqq -e signal=none -e trace=utimensat,flock,wait4 -o trace flock --cooldown 9 new true
sed 's/([0-9]*, NULL/ of a descriptor(/; s/(.*//' trace | uniq
#> flock
#> utimensat of a descriptor
#> wait4
#> utimensat of a descriptor

### cooldown-descriptor-that-is-not-open
flock --cooldown 5 9; echo $?
#> flock: 9: Bad file descriptor
#> flock: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock 9 9>&9
#> 65
