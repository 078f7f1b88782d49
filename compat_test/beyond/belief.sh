What a contender believes about the others: what it has not seen counts as held.
# directory: only

### belief-another-users-script-that-has-ended
# needs: linux root setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
setpriv --reuid 54331 --clear-groups bash -c 'exec 9>>f; flock 9'
setpriv --bounding-set -sys_ptrace flock -n f echo in
#> in

### belief-another-users-child-that-has-the-file
# needs: linux root setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
setpriv --reuid 54321 --clear-groups bash -c 'exec 9>>f; flock 9; echo $? >has; (until [ -e go ]; do sleep .02 9>&-; done) &'
await '[ -s has ]'; cat has
#> 0
setpriv --bounding-set -sys_ptrace flock -n f echo in; echo $?
#> 1
flock -n f echo in; echo $?
#> 1
announce go
flock -w 20 f echo in
#> in

### belief-another-group-of-the-same-user
# needs: linux root setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
as() { setpriv --reuid 54321 --regid $1 --clear-groups "${@:2}"; }
as 54322 bash -c 'exec 9>>f; flock 9; (until [ -e go ]; do sleep .02 9>&-; done) & : >has'
await '[ -e has ]'
as 54323 flock -n f echo in; echo $?
#> 1
announce go
await '! pgrep -u 54321 >/dev/null'
# a daemon in that group that has been started since does not count for a record of another one
as 54323 bash -c 'exec 9>>f; flock 9; :'
setpriv --reuid 54321 --regid 54322 --clear-groups sleep 100 & daemon=$!
await 'grep -qa ^sleep /proc/$daemon/cmdline'
as 54323 flock -n f echo in
#> in
kill $daemon; wait

### belief-holders-are-only-who-was-seen
# needs: linux root pidns setpriv

# a process that has got the id of a flock that has ended is innocent
: >f; chmod 666 f; chmod 777 .
umask 0
unshare -pf --mount-proc bash -c '
	flock f sh -c "sleep 100 >/dev/null 2>&1 & exit" & first=$!
	wait $first
	until [ "$innocent" = $first ]; do
		echo $((first - 1)) >/proc/sys/kernel/ns_last_pid || exit
		setpriv --reuid 12345 --clear-groups sleep 50 & innocent=$!
	done
	flock --holders f | sed "s/^[0-9]* *//; s/ [0-9]*s / AGE /"
	setpriv --reuid 54321 --clear-groups flock --holders f; echo $?
	flock -n --verbose f true 2>&1 | grep held'
#> exclusive root AGE sleep 100
#> - exclusive - - a process that this user may not see
#> 0
#> flock: held by a process that has inherited it

### belief-a-backup-is-taken-for-a-holder
# needs: linux

# who only reads the file with O_NOATIME looks like a process that has inherited the lock
dd if=/dev/zero of=f bs=1000 count=200 2>/dev/null
bash -c 'exec 9<f; flock 9; :'
mkfifo out; exec 8<>out
dd if=f iflag=noatime of=out 2>/dev/null & backup=$!
await 'grep -q "flags:.*01[14]00000" /proc/$backup/fdinfo/0'
for n in 1 2; do flock -n --verbose f true 2>&1 | grep held | sed "s/process $backup /BACKUP /"; done
#> flock: held by BACKUP that has the file open with O_NOATIME, as a holder has
#> flock: held by BACKUP that has the file open with O_NOATIME, as a holder has
kill $backup; wait
flock -n f echo in
#> in
# the process that has locked is a holder, whoever else reads
bash -c 'exec 9<f; flock 9; exec sleep 100' & holder=$!
await 'grep -qa ^sleep /proc/$holder/cmdline'
flock -n --verbose f true 2>&1 | grep held | sed "s/process $holder$/HOLDER/"
#> flock: held by HOLDER
kill $holder; wait

### belief-script-on-another-machine
# needs: linux

# it is the script that has the lock, not the flock that has ended
bash -c 'exec 9>f; flock 9; echo $$; sleep 100 >/dev/null & echo $!' >pids
script=$(head -1 pids)
record=$(ls .f.flock | grep @)
mv ".f.flock/$record" ".f.flock/$(echo "$record" | awk -F, -v OFS=, '{$7 = "elsewhere"; $8 = "m"; $9 = "b"; print}')"
flock -n --verbose f true 2>&1 | sed "s/process $script /SCRIPT /; s/ there .* frees/ there frees/; s;excl,[^ )]*;RECORD;" | grep held
#> flock: held by SCRIPT on host elsewhere ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD)
kill $(tail -1 pids)

### belief-child-of-root
# needs: linux root setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
bash -c 'exec 9>>f; flock 9; (until [ -e go ]; do sleep .02 9>&-; done) & : >has'
await '[ -e has ]'
setpriv --reuid 54321 --clear-groups flock -n f echo in; echo $?
#> 1
announce go
flock -w 20 f echo in
#> in

### belief-number-of-a-pid-namespace-that-comes-again
# needs: linux root pidns
exec 9>f
unshare -pf --mount-proc bash -c 'flock 9; :'
for i in 1 2 3 4 5; do unshare -pf --mount-proc bash -c 'flock -n f echo in; echo $?' 9>&-; done
#> 1
#> 1
#> 1
#> 1
#> 1
exec 9>&-
flock -n f echo in
#> in

### belief-record-of-an-earlier-version
# needs: linux
# directory: only
flock f sh -c 'echo $$ >has; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -s has ]'
for r in .f.flock/excl,*; do mv $r ${r%,*},+${r##*,}; done # as it was written where ustat(2) knew the filesystem
flock -n f echo in; echo $?
#> 1
kill -9 $! $(cat has); wait # not for the command, which ends a moment later
flock -w 20 f echo in
#> in

### belief-process-id-that-comes-again
# needs: linux root pidns setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
unshare -pf --mount-proc bash -c '
	setpriv --reuid 54321 --clear-groups bash -c "echo \$\$ >pid; exec 9>>f; flock 9"
	sleep .02 # the clock of start times has ticks of 10 ms
	until [ "$daemon" = "$(cat pid)" ]; do
		echo $(($(cat pid) - 1)) >/proc/sys/kernel/ns_last_pid || exit
		setpriv --reuid 12345 --clear-groups sleep 100 & daemon=$!
	done
	setpriv --reuid 54321 --clear-groups flock -n f echo in; echo $?'
#> in
#> 0

### belief-file-removed-while-another-waits
# needs: linux
exec 9>f; flock 9
flock f echo in 9>&- & waiter=$!
await 'waiting f'
rm f
flock -w .3 9 2>/dev/null # a look at least
kill -0 $waiter && echo waits
#> waits
exec 9>&-
wait $waiter
#> in

### belief-another-number-of-the-caller
# needs: linux root setpriv
: >f; chmod 666 f; chmod 777 .
umask 0
setpriv --reuid 54361 --clear-groups bash -c 'exec 9>>f; flock 0 <&9; : >has; until [ -e go ]; do sleep .02 9>&-; done' &
await '[ -e has ]'
setpriv --bounding-set -sys_ptrace flock -n f echo in; echo $?
#> 1
announce go; wait
setpriv --bounding-set -sys_ptrace flock -w 20 f echo in
#> in

### belief-readers-in-a-loop-beside-a-writer
# needs: linux
hold -s f
flock f echo in & writer=$!
await 'waiting f'
for n in {1..70}; do { flock -s 9 || break; } 9>f; done; echo $n
#> 70
release; wait $writer
#> in

### belief-operation-that-fails
# needs: strace linux

for n in 1 2 3 4 5; do
	strace -f -qqq -o trace -e trace=renameat -e inject=renameat:error=EDQUOT:when=$n flock f true 2>err
	grep -q INJECTED trace || echo "no operation $n"
	flock -n f echo in || ls .f.flock
done
#> in
#> in
#> in
#> in
#> no operation 5
#> in

### belief-mark-that-cannot-be-written-down
# needs: strace linux

for n in 1 2 3 4; do
	exec 9>f
	strace -f -qqq -o trace -e trace=renameat,mknodat -e inject=renameat,mknodat:error=ENOSPC:when=$n flock 9 2>err; echo $?
	exec 9>&-
	flock -n f echo in || ls .f.flock
done
#> 73
#> in
#> 73
#> in
#> 73
#> in
#> 0
#> in

### belief-signal-to-all-of-a-job
# needs: proc
for signal in TERM INT HUP; do
	set -m; flock f sleep 100 & p=$!; set +m
	await 'catches $p' # it has started the command
	kill -$signal -- -$p; wait $p; echo $?
	ls .f.flock
done 2>/dev/null
#> 143
#> free
#> 130
#> free
#> 129
#> free

### belief-signal-to-a-waiter
# needs: proc
hold f
set -m; flock --queue 1 f true & p=$!; set +m
await 'placed $p && catches $p'
{ kill $p; wait $p; } 2>/dev/null; echo $?
#> 143
ls .f.flock | grep -c ^wait; ls .f.flock.queue
#> 0
#> free
release

### belief-signal-that-the-command-survives
# needs: proc

flock f bash -c 'trap "" TERM; : >has; until [ -e go ]; do read _ <../wake.go || exit; done' & p=$!
await '[ -e has ] && catches $p'
{ kill $p; wait $p; } 2>/dev/null; echo $?
#> 143
flock -n f echo in; echo $?
#> 1
announce go
flock -w 20 f echo in
#> in

### belief-signal-that-is-ignored
(trap '' TERM; exec flock f bash -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done') & p=$!
await '[ -e has ]'
kill $p
announce go; wait $p; echo $?
#> 0

### belief-no-fork-catches-nothing
# needs: proc
flock -F f cat /proc/self/status | grep SigCgt
#> SigCgt:	0000000000000000

### belief-no-fork-without-a-command
flock -F f ./nothing 2>/dev/null; echo $?
#> 69
ls .f.flock
#> free

### lifeline-under-the-number-of-the-file
# needs: linux
flock l bash -c 'exec 4>log; (until [ -e go ]; do read _ <../wake.go || exit; done) & exit 0'
flock -n l echo in; echo $?
#> 1
announce go
flock -w 20 l echo in
#> in

### lifeline-closed-with-the-file
# needs: linux
flock l bash -c 'exec 3>log; (until [ -e go ]; do read _ <../wake.go || exit; done) & exit 0'
flock -n l echo in
#> in
rm -f go
flock l bash -c '(: >up; until [ -e go ]; do read _ <../wake.go || exit; done) 3>&- & until [ -e up ]; do sleep .01; done'
flock -n l echo in
#> in
announce go

### lifeline-is-only-closed-in-the-command
# needs: linux
flock -F f sh -c 'flock -u 3; echo $?; flock -s 3; echo $?; flock -n f echo in; echo $?; exec 3>&-; flock -n f echo in'
#> flock: 3: the outer flock has its lock by this descriptor, and only closing it gives that up: 3>&-
#> 65
#> flock: 3: the outer flock has its lock by this descriptor, and only closing it gives that up: 3>&-
#> 65
#> 1
#> in
ls .f.flock
#> free

### lifeline-without-the-variable
# needs: linux
backend=$FLOCK_BACKEND
flock f sh -c 'unset FLOCK_BACKEND; flock -n 3 2>&1 | grep -o "the outer flock"; flock --holders 3 | grep -o exclusive | sort -u; FLOCK_BACKEND=directory flock -n f echo in'; echo $?
#> the outer flock
#> exclusive
#> 1

### lifeline-never-blocks-who-reads-it
# needs: linux timeout
flock f sh -c 'timeout 20 cat <&3 2>/dev/null; [ $? = 124 ] && echo hangs; echo read'
#> read

### lifeline-with-a-cooldown-and-a-report
# needs: linux
flock --cooldown 100 --report 0 f true; flock -n f --cooldown 1 true 2>/dev/null || flock --holders f | grep -o cooldown
#> cooldown

### belief-holders-of-another-pid-namespace
# needs: linux root pidns
unshare -pf --mount-proc bash -c 'flock f sh -c ": >has; until [ -e go ]; do read _ <../wake.go || exit; done"' & holder=$!
await '[ -e has ]'
unshare -pf --mount-proc flock --holders f; echo $?
#> - exclusive - - a process of another pid namespace
#> 0
unshare -pf --mount-proc flock -n --verbose f true 2>&1 | grep held
#> flock: held by a process of another pid namespace
flock --holders f | grep 'until' | awk '{ print $2 }' | sort -u # the shell, and one that is about to be sleep
#> exclusive
announce go; wait $holder

### belief-holder-of-a-file-that-was-replaced
# needs: linux
exec 9>f; flock 9
mv f old; : >f
flock --holders f; echo $?
#> 1
flock -n --report 0 f echo in
#> in

### belief-what-to-do-about-a-token
# needs: linux
flock f true
busy=$(flock f sh -c 'ls .f.flock' | sed -n 's/^excl,/busy,/p' | awk -F, -v OFS=, '{$4 = 77; $7 = "elsewhere"; $8 = "m"; $9 = "b"; print}')
mv .f.flock/free ".f.flock/$busy"; mkfifo ".f.flock/new${busy#busy}"
flock -n --verbose f true 2>&1 | sed 's;busy,[^ )]*;TOKEN;' | grep held
#> flock: held by process 77, which is taking or releasing it on host elsewhere ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process is gone, rename $DIR/.f.flock/TOKEN to free)
mv .f.flock/busy,* .f.flock/free
flock f echo in
#> in

### belief-readers-that-have-ended-beside-a-writer
# needs: linux

# they search only when no signal is left for one more
hold -s f
flock f echo in & writer=$!
await 'waiting f'
for n in {1..65}; do bash -c 'exec 9>>f; flock -s 9' || break; done; echo $n
#> 65
release; wait $writer
#> in

### belief-more-readers-than-signals
# needs: linux
for n in {1..62}; do bash -c 'exec 9>>f; flock -s 9; sleep 1000 >/dev/null & echo $! >>pids'; done
exec 9>>f
flock -s 9; echo $?
#> flock: 9: cannot lock: state directory $DIR/.f.flock: 62 open files have the lock, or may have it: that is as many as can have it
#> 65
kill $(cat pids)
await 'flock -n f true'
flock -s 9; echo $?
#> 0

### belief-filesystem-of-the-state-that-was-unmounted
# needs: linux root mount losetup mke2fs

# a lifeline would keep it mounted, an open file on another filesystem does not; and then it has another device number
truncate -s 1M img; mke2fs -q img; mkdir m; : >f
cat >script <<-'END'
	first=$(losetup -f --show img) second=$(losetup -f --show img)
	trap 'losetup -d $first $second' EXIT # at the end: until then nobody else gets their numbers
	mount $first m || exit
	exec 9>>f
	export FLOCK_DIR=$PWD/m
	flock 9
	umount m
	mount $second m || exit
	flock -n f echo in; echo $?
	flock -n 9; echo $?
	exec 9>&-
	flock -n f echo in || flock -n --verbose f true 2>&1 | grep -o 'that process and all that it has started are gone, remove'
END
unshare -m bash script
#> 1
#> 1
#> that process and all that it has started are gone, remove

### belief-dots-after-a-link
# needs: linux

# the kernel goes up from where the link leads to
mkdir -p releases/42 releases/state state; ln -s releases/42 current
hold releases/job
flock -n current/../job true; echo $?
(cd current && flock -n ../job true; echo $?)
(cd -P current && PWD=$OLDPWD/current && export PWD && flock -n ../job true; echo $?)
#> 1
#> 1
#> 1
rm releases/job
flock --holders current/../job >/dev/null; echo $?
#> 0
release
FLOCK_DIR=$PWD/current/../state hold f
FLOCK_DIR=$PWD/releases/state flock -n f true; echo $?
#> 1
rm current # as in the moment of ln -sfn
FLOCK_DIR=$PWD/current/../state flock -n f true 2>&1 | grep -c 'No such file'; echo ${PIPESTATUS[0]}
#> 1
#> 65
release

### belief-path-of-another-mount-namespace
# needs: linux root mount
mkdir m; : >m/f
unshare -m bash -c 'mount -t tmpfs none m && cd m && : >f && : >../has && until [ -e ../go ]; do read _ <../../wake.go || exit; done' & there=$!
await '[ -e has ]'
flock -n "/proc/$there/root$PWD/m/f" true 2>&1 | sed 's,/proc[^:]*,PATH,'; echo ${PIPESTATUS[0]}
#> flock: PATH: the path leads elsewhere than its text says, into another mount namespace or below a mount: use another path
#> 65
FLOCK_DIR=/proc/$there/root$PWD/m flock -n f true 2>&1 | grep -c 'leads elsewhere'; echo ${PIPESTATUS[0]}
#> 1
#> 65
announce go; wait

### belief-mount-over-the-working-directory
# needs: linux root mount
mkdir m
cat >script <<-'END'
	cd m && mount -t tmpfs none "$PWD"
	flock -n f true; echo $?
	ls -A "$PWD"
END
unshare -m bash script 2>&1
#> flock: f: the path leads elsewhere than its text says, into another mount namespace or below a mount: use another path
#> 65

### belief-path-that-may-not-be-searched
# needs: linux root setpriv
mkdir -m 700 private; chmod 777 .
exec 9>private/f
setpriv --reuid 54321 --clear-groups flock -n 9; echo $?
#> flock: 9: cannot find the name of its file: Permission denied
#> 65

### belief-process-1-is-not-terminated
# needs: linux root pidns
unshare -pf --mount-proc flock f sh -c ': >in; until [ -e go ]; do read _ <../wake.go || exit; done; exit 7' & outside=$!
await '[ -e in ]'
# It ends when its command does, with the status of that.
kill -TERM "$(cat /proc/$outside/task/$outside/children)"
announce go; wait $outside; echo $?
#> 7

### belief-in-a-unit-with-a-filter
# needs: linux

# each form of flock under SystemCallFilter=@system-service, which kills: 159 is what a shell says of SIGSYS
cat >script <<-'END'
	flock() { command flock "$@"; [ $? = 159 ] && echo "killed: $*"; }
	(exec chroot / true) 2>/dev/null; echo $? # chroot(2) is not in the list
	for FLOCK_BACKEND in native directory; do
		export FLOCK_BACKEND
		for options in "" -s "-w 9" -F "--permits 2" "--queue 1" "--cooldown 0.01" "--report 0 --verbose"; do
			flock $options f true
			(flock $options 9) 9<>f
		done
		flock --fd 9 -c true 9<>f; flock -u 9 9<>f
		for options in "--limit 9" --kill-children --replace --remove; do flock $options f$FLOCK_BACKEND true; done
		exec 8<>f; flock 8
		for options in -n "-w 0.1" "-s -w 0.1" "--report 0 -w 0.1" "--queue 0" "-n --permits 2" --holders; do
			flock $options f $([ "$options" = --holders ] || echo true)
		done
		exec 8>&-
		(flock -s 9; sleep 1000 & echo $! >pid) 9<>f # the open file is not where its record says
		flock -n f true; flock --holders f
		kill $(cat pid)
		flock -w 20 f true
	done
	flock --help; flock --no-such-option; flock nowhere/f true; flock f nothing
END
"$SELF" system-service "$BASH" script >out 2>&1; grep -e '^159$' -e 'killed: ' out
#> 159
