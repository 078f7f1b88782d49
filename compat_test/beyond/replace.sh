The newest run wins: --replace.

# needs: linux own-path
# kernel: the tickets are bytes of the file

### replace-the-run-that-has-the-lock
flock --replace f sh -c ': >up; exec sleep 1000' 2>err & p=$!
await '[ -e up ]'
flock --replace f echo in
#> in
wait $p; echo $?; cat err
#> 1
#> flock: f: replaced by a newer run
flock -n f echo free
#> free

### replace-needs-no-other
flock --replace f echo in
#> in
flock --replace --verbose f sh -c 'exit 3' >out; echo $?
#> 3
cd /; flock --replace "$OLDPWD/f" -c 'echo in'
#> in

### replace-with-an-option-behind-the-file

# The run could only fail, so it ends no other one.
flock --replace f sh -c ': >up; until [ -e go ]; do read _ <../wake.go || exit; done; echo to the end' & p=$!
await '[ -e up ]'
flock --replace f -x echo in 2>&1 | head -1
#> flock: failed to execute -x: No such file or directory
announce go; wait $p; echo $?
#> to the end
#> 0

### replace-of-those-who-wait-the-newest-stays
flock f sh -c ': >up; until [ -e go ]; do read _ <../wake.go || exit; done; echo plain' & p=$!
await '[ -e up ]'
flock --replace f echo first & q=$!
await 'ticketed $q && waiting f'
flock --replace -E 7 f echo second & r=$!
wait $q; echo $?
#> flock: f: replaced by a newer run
#> 1
await 'ticketed $r && waiting f'
flock --replace f echo third & s=$!
wait $r; echo $?
#> flock: f: replaced by a newer run
#> 7
await 'ticketed $s && waiting f'
kill -0 $p && announce go; wait
#> plain
#> third

### replace-waits-until-all-is-gone
flock --replace -E 7 f sh -c 'trap "until [ -e go ]; do read _ <../wake.go || exit; done; echo end; exit 0" TERM; : >up; while :; do sleep .01; done 2>/dev/null' 2>err & p=$!
await '[ -e up ]'
flock --replace f echo in & q=$!
await 'waiting f'
flock --replace f echo in & r=$!
wait $q; echo $?
#> flock: f: replaced by a newer run
#> 1
# a holder that is being ended is a holder
flock --holders f | grep -v waiting | grep -c 'sh -c trap'
#> 2
flock --holders f | grep 'echo in' | sed -E 's/^ *[0-9]+ +//; s/[)] .*/)/'
#> exclusive (waiting)
flock -n --report 0 f true 2>&1 | grep -c 'held by process [0-9]* (sh '
#> 1
# the status is the same, however the command ends
announce go; wait $p $r; wait $p; echo $?; cat err
#> end
#> in
#> 7
#> flock: f: replaced by a newer run

### replace-ends-all-that-was-started
# needs: setsid
flock -o --replace f sh -c 'setsid sh -c ": >up; trap \": >ended; exit\" TERM; while :; do sleep .01; done" & sleep 1000' 2>/dev/null & p=$!
await '[ -e up ]'
flock --replace f ls ended
#> ended
wait $p; echo $?
#> 1

### replace-waits-for-what-was-left-behind
flock --replace f sh -c '(until [ -e go ]; do read _ <../wake.go || exit; done; echo over) & exit 3'; echo $?
#> 3
flock --replace f echo in & p=$!
await 'ticketed $p && waiting f'
announce go; wait
#> over
#> in

### replace-of-a-stopped-flock
flock --replace f sh -c ': >up; exec sleep 1000' 2>err & p=$!
await '[ -e up ]'
kill -STOP $p
flock --replace f echo in
#> in
wait $p; echo $?; cat err
#> 1
#> flock: f: replaced by a newer run

### replace-with-standard-descriptors-closed

# the lock file has the number of one of them
for closed in '2>&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	for o in '' -o; do
		eval "flock $o --replace f sh -c ': >up; exec sleep 1000' $closed & p=\$!"
		await '[ -e up ]'
		flock --replace f echo in
		wait $p; echo $?
		rm up
	done
done | sort | uniq -c | sed 's/^ *//'
#> 8 1
#> 8 in

### replace-past-its-limit
flock --replace --limit .1 f sh -c 'trap ": >up; until [ -e go ]; do read _ <../wake.go || exit; done; exit 0" TERM; while :; do sleep .01; done 2>/dev/null' & p=$!
await '[ -e up ]'
flock --replace f echo in >out & q=$!
await 'ticketed $q && waiting f'
announce go; wait $p; echo $?
#> flock: sh exceeded its limit of 0.1 s; terminating it
#> 124
wait $q; cat out
#> in

### replace-after-a-timeout-nothing-runs
hold f
flock --replace -w .2 -E 7 f echo no; echo $?
#> 7
release
flock --replace f echo in
#> in

### replace-of-a-killed-flock
flock --replace f sh -c ': >up; exec sleep 1000' & p=$!
await '[ -e up ]'
{ kill -9 $p; wait $p; } 2>/dev/null
flock --replace f echo in
#> in

### replace-from-another-network-namespace
# needs: root pidns

# nobody rings there: a look each second finds the newer run
flock --replace f sh -c ': >up; exec sleep 1000' 2>err & p=$!
await '[ -e up ]'
unshare -n flock --replace f echo in
#> in
wait $p; echo $?; cat err
#> 1
#> flock: f: replaced by a newer run

### replace-without-sockets
flock --replace f sh -c ': >up; exec sleep 1000' 2>err & p=$!
await '[ -e up ]'
"$SELF" without-sockets "$(type -P flock)" --replace f sh -c ': >up2; exec sleep 1000' 2>err2 & q=$!
await '[ -e up2 ]'
wait $p; echo $?; cat err
#> 1
#> flock: f: replaced by a newer run
flock --replace f echo in
#> in
wait $q; echo $?; cat err2
#> 1
#> flock: f: replaced by a newer run

### replace-a-line-that-nobody-reads-keeps-no-lock
# needs: python3
hold f
mkfifo full; exec 7<>full
head -c 65536 /dev/zero >&7
flock --replace f echo no 2>&7 & p=$!
await 'ticketed $p && waiting f'
flock --replace f echo in & q=$!
await 'grep -qs "^[0-9]* 0x2 " /proc/$p/task/*/syscall' # writes to descriptor 2
release
wait $q
#> in
head -c 65536 <&7 >zeros
wait $p; echo $?
#> 1
head -c 34 <&7
#> flock: f: replaced by a newer run

### replace-the-command-has-no-other-descriptor
for o in '' -o; do
	flock $o f ls /proc/self/fd >plain
	flock $o --replace f ls /proc/self/fd | diff plain - && echo same
done
#> same
#> same

### replace-inside-its-own-lock
# needs: locks

# it would end the run that waits for it
flock --replace f sh -c 'flock --replace -E 7 f echo no 2>line; echo $?; echo in'; echo $?
#> 7
#> in
#> 0
sed 's/process [0-9]*/process N/' line
#> flock: f is held by process N (flock --replace f sh -c flock --replace -E 7 f echo no 2>line; echo $?; echo in), which waits for this one
ln f g; flock --replace f -c '(flock --replace g echo no) 2>/dev/null; echo $?; flock --replace h echo another lock'
#> 1
#> another lock

### replace-started-by-who-then-lets-go
exec 9>f; flock 9
flock --replace f echo in & p=$!
await 'ticketed $p && waiting f'
flock -u 9; wait $p; echo $?
#> in
#> 0

### replace-refused
for o in -n '-w 0' -s -u -F '--queue 1' '--permits 2' '--cooldown 1' --remove --fcntl '--start 1' '--length 1' '--backend fcntl' '--backend directory'; do
	flock --replace $o f echo no; echo $?
done 2>&1 | sed 's/: --replace cannot be combined with --*[a-z].*/: (combined)/; s/: --replace cannot.*the backend .*/: (combined)/' | sort | uniq -c | sed 's/^ *//'
#> 14 64
#> 14 flock: (combined)
flock --replace 9; echo $?
#> flock: --replace cannot be combined with a descriptor: it needs the file and a command
#> 64
flock --replace --fd 9 true; echo $?
#> flock: --replace cannot be combined with a descriptor: it needs the file and a command
#> 64
FLOCK_BACKEND=directory flock --replace f true; echo $?
#> flock: --replace cannot be combined with the backend directory: it needs locks of the kernel
#> 64
ls

### replace-not-for-a-program-or-a-directory
mkdir d; : >f; chmod +x f
flock --replace d echo no; echo $?
#> flock: d: --replace cannot be used with a directory
#> flock: lock a file in it instead
#> 65
flock --replace f echo no; echo $?
#> flock: f: --replace cannot be used with an executable file
#> flock: nobody can execute a file that is open for writing: use a separate lock file, in a script "$0.lock"
#> 65

### replace-a-file-that-cannot-be-written
# needs: root setpriv
: >f; chmod 644 f
setpriv --reuid 65534 --clear-groups flock --replace f echo no; echo $?
#> flock: f: --replace needs a file that can be written: Permission denied
#> flock: use another lock file
#> 66

### replace-beside-a-lock-of-the-whole-file
# needs: python3
python_holds 'lockf(f, fcntl.LOCK_EX)'
flock --replace f echo no; echo $?
#> flock: f: --replace: another program has locked its bytes with fcntl(2)
#> flock: use a separate lock file
#> 65
release

### replace-without-kernel-locks
"$SELF" without-kernel-locks "$(type -P flock)" --replace f echo no; echo $?
#> flock: f: --replace: Invalid argument
#> flock: --replace needs flock(2), byte locks and /proc
#> 65

### replace-where-byte-locks-are-denied
ulimit -t 5 # seconds of the processor
"$SELF" byte-locks-denied "$(type -P flock)" --replace f echo no; echo $?
#> flock: f: --replace: Permission denied: a security policy may forbid locks on it
#> flock: --replace needs flock(2), byte locks and /proc
#> 65

### replace-tickets-are-no-locks
flock --replace f sh -c ': >up; until [ -e go ]; do read _ <../wake.go || exit; done' & p=$!
await '[ -e up ]'
flock --holders f | sed -E 's/^ *[0-9]+ +//; s/ .*//' | sort -u # flock, the shell, and what it has started
#> exclusive
flock --permits 2 f sh -c 'echo permit $FLOCK_PERMIT >>out' & q=$!
flock --queue 1 f sh -c 'echo queued >>out' & r=$!
await 'placed $r'
flock --queue 1 f echo no; echo $?
#> 1
announce go; wait; sort out
#> permit 1
#> queued
