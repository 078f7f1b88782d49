The command and its lock end together: --limit and --kill-children.

# needs: own-path

### limit-in-time
flock --limit 60 f sh -c 'echo in; exit 7'; echo $?
#> in
#> 7
flock -n f echo free
#> free

### limit-is-reached
flock --limit .2 f sleep 1000; echo $?
#> flock: sleep exceeded its limit of 0.2 s; terminating it
#> 124
flock -n f echo free
#> free

### limit-leaves-what-was-left-in-time
flock --limit 60 f sh -c '(until [ -e go ]; do read _ <../wake.go || exit; done) >/dev/null 2>&1 & exit 3'; echo $?
#> 3
flock -n f true; echo $?
#> 1
announce go
flock -w 20 f echo free
#> free

### limit-ends-other-sessions
# needs: setsid proc
flock --limit 3 f sh -c 'setsid sh -c "trap \"echo ended >ended; exit\" TERM; while :; do read _ <../idle; done" & sleep 1000' 2>/dev/null; echo $?; cat ended
#> 124
#> ended
flock -n f echo free
#> free

### limit-of-a-killed-flock
# needs: proc
for close in '' -o; do
	flock $close --limit 60 f sh -c ': >up; sleep 1000' & p=$!
	await '[ -e up ]'; rm up
	flock -n f true; echo $?
	{ kill -9 $p; wait $p; } 2>/dev/null; echo $?
	flock -w 60 f echo free
done
#> 1
#> 137
#> free
#> 1
#> 137
#> free

### limit-of-a-killed-guard
# needs: proc
flock --limit 60 f sh -c 'echo $PPID >up.; mv up. up; sleep 1000; exit' & p=$!
await '[ -e up ]'
kill -9 $(cat up); wait $p; echo $?
#> flock: the guard of sh was killed, and so were all its descendants
#> 137
flock -n f echo free
#> free

### limit-of-a-killed-guard-beside-other-children
# needs: linux proc
: flock has a child from before, which stays
(
	sleep 1000 &
	echo $! >other
	exec flock --limit 60 f sh -c 'sleep 1000 & echo $! >child; echo $PPID >up.; mv up. up; wait'
) & p=$!
await '[ -e up ]'
kill -9 $(cat up); wait $p; echo $?
#> flock: the guard of sh was killed, and so were all its descendants
#> 137
kill -0 $(cat child) 2>/dev/null || echo ended
#> ended
kill $(cat other) && echo stays
#> stays

### limit-signal-is-passed-on
flock --limit 60 f sh -c ': >up; exec sleep 1000' & p=$!
await '[ -e up ]'
{ kill $p; wait $p; } 2>/dev/null; echo $?
#> 143
flock -n f echo free
#> free

### limit-the-command-differs-in-nothing
# needs: proc
same() {
	$under flock $1 f sh -c "$2" >without 2>/dev/null
	$under flock $1 --limit 60 f sh -c "$2" >with 2>/dev/null
	[ -s without ] || echo nothing
	diff without with
}
signals='grep -E "Sig(Ign|Blk)" /proc/self/status'
(trap '' PIPE TERM USR1; same '' "$signals"; grep -c 'SigIgn:.*5[0-9a-f]0[0-9a-f]$' with)
#> 1
under=nohup
same '' "$signals"; grep -c 'SigIgn:.*[13579bdf]$' with
#> 1
under=
same '' 'ls /proc/$$/fd; ulimit -a; env | grep -v ^_='
same -o 'ls /proc/$$/fd; echo'

### limit-holders-are-the-command
# needs: proc
flock --limit 60 f sh -c ': >up; until [ -e go ]; do read _ <../wake.go || exit; done' & p=$!
await '[ -e up ]'
flock --holders f | grep -c lock-guard
#> 0
flock -n --report 0 f true 2>&1 | sed 's/process [0-9]*/process N/; s/, running.*//'
#> flock: f is held by process N (sh -c : >up; until [ -e go ]; do read _ <../wake.go || exit; done)
announce go; wait $p

### limit-refused
flock --limit 0 f true; echo $?
#> flock: invalid limit (must be more than 0 seconds): '0'
#> 64
flock --limit 5 9; echo $?
#> flock: --limit cannot be combined with a descriptor number alone: there is no command to end
#> 64
flock -F --kill-children f true; echo $?
#> flock: --kill-children cannot be combined with --no-fork: nobody would be left to end the command
#> 64
flock -u --limit 5 9; echo $?
#> flock: --limit cannot be combined with --unlock, which runs no command that has the lock
#> 64

### limit-command-that-cannot-be-executed
flock --limit 5 f ./missing; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69

### limit-with-the-others
flock --limit 60 --permits 2 f flock -n --limit 60 --permits 2 f echo nested
#> nested
flock --limit 60 --remove g true; ls g 2>/dev/null
flock --limit .2 --cooldown 100 c sleep 1000 2>/dev/null; echo $?; flock -n --cooldown 1 c echo in; echo $?
#> 124
#> 1
exec 9>d; flock --fd 9 --limit 60 -c 'echo of the descriptor'; flock -u 9
#> of the descriptor
flock --queue 1 --limit 60 f echo queue
#> queue

### kill-children-ends-what-is-left
# needs: setsid proc
flock --kill-children f sh -c 'setsid sleep 1000 & sleep 1000 & exit 3'; echo $?
#> 3
flock -n f echo free
#> free
flock --kill-children --report 9 f sh -c 'sleep 1000 & p=$!; until [ "$(tr "\0" " " </proc/$p/cmdline)" = "sleep 1000 " ]; do :; done; exit 3' 2>&1 | sed 's/process [0-9]*/process N/'
#> flock: sh has left process N (sleep 1000) running; it is terminated

### limit-while-flock-is-stopped
# needs: proc
: when its guard has ended all, it goes on
for options in '--limit 1' '-o --limit 1' '--kill-children --limit 1'; do
	flock $options f sh -c 'echo $$ >up.; mv up. up; exec sleep 1000' 2>/dev/null & p=$!
	await '[ -e up ]'
	rm up
	kill -STOP $p 2>/dev/null # under load it may have ended
	wait $p; echo $?
	flock -n f echo free
done
#> 124
#> free
#> 124
#> free
#> 124
#> free

### limit-stopped-guard-of-a-killed-flock
# needs: proc
for options in '--limit 60' '--kill-children' '-o --limit 60'; do
	flock $options f sh -c 'echo $PPID >up.; mv up. up; sleep 1000; exit' & p=$!
	await '[ -e up ]'
	kill -STOP $(cat up)
	await 'grep -q "^State:.T" /proc/$(cat up)/status'
	rm up
	{ kill -9 $p; wait $p; } 2>/dev/null
	flock -w 60 f echo free
done
#> free
#> free
#> free

### limit-process-of-another-user
# needs: root setpriv proc
# kernel: where a filter hides the locks of the kernel, the set-user-id bit has no effect
cp "$(type -P setpriv)" become; chmod 4755 become
began=$(date +%s)
setpriv --reuid 65534 --clear-groups flock --limit 2 f ./become --reuid 0 sleep 6 2>&1 | sed 's/process [0-9]*/process N/'
[ $(($(date +%s) - began)) -ge 5 ] || echo it has not waited
flock -n f echo free
#> flock: ./become exceeded its limit of 2 s; terminating it
#> flock: process N (sleep 6) cannot be killed (no permission): waiting for it to exit
#> free

### limit-where-processes-are-few
# needs: root setpriv linux
# alike: it is about the guard
: nobody has killed the guard, where the runtime lacks a thread for it
chmod 777 .; : >f; chmod 666 f
for n in $(seq 8 18); do
	{ setpriv --reuid 54341 --regid 54341 --clear-groups bash -c "ulimit -c 0 -u $n; exec flock --limit 60 f true"; } 2>>err
	echo $?
done >statuses
grep -x 71 statuses | uniq
#> 71
grep -c 137 statuses; grep -c 'was killed' err
#> 0
#> 0

### limit-process-that-was-of-another-user
# needs: root setpriv proc
# kernel: where a filter hides the locks of the kernel, the set-user-id bit has no effect
cp "$(type -P setpriv)" become; chmod 4755 become
mkfifo ready hold
setpriv --reuid 65534 --clear-groups flock --kill-children f sh -c './become --reuid 0 sh -c "echo >ready; read line <hold; exec setpriv --reuid 65534 sh -c \": >down; exec sleep 1000\"" & read line <ready; exit 3' 2>lines & p=$!
await 'grep -qs "cannot be killed" lines'
echo >hold
await '[ -e down ]'
kill $p; wait $p; echo $?
sed 's/process [0-9]* (.*) can/process N can/' lines
#> 3
#> flock: process N cannot be killed (no permission): waiting for it to exit
#> flock: process N can be killed now, and is

### limit-in-cron
# needs: setsid proc
in_cron() { env -i HOME=/ LOGNAME=ann SHELL=/bin/sh PATH="$PATH" setsid -w sh -c "$1"; }
both() { echo "-- $1"; in_cron "$2" </dev/null; in_cron "$2" <&-; }
both limit 'flock -n --limit .3 f sleep 1000; echo $?; flock -n f echo free'
both leftovers 'flock --kill-children f sh -c "sleep 1000 & exit 3"; echo $?; flock -n f echo free'
start='rm -f up; flock --limit 60 f sh -c ": >up; exec sleep 1000" & p=$!; until [ -e up ]; do sleep .01; done;'
both kill "$start"' kill -9 $p; wait $p; echo $?; flock -w 60 f echo free' 2>/dev/null
both signal "$start"' kill $p; wait $p; echo $?; flock -n f echo free' 2>/dev/null
#> -- limit
#> flock: sleep exceeded its limit of 0.3 s; terminating it
#> 124
#> free
#> flock: sleep exceeded its limit of 0.3 s; terminating it
#> 124
#> free
#> -- leftovers
#> 3
#> free
#> 3
#> free
#> -- kill
#> 137
#> free
#> 137
#> free
#> -- signal
#> 143
#> free
#> 143
#> free

### kill-children-signal-to-all
# needs: proc
flock --kill-children f sh -c '(trap "sleep .3; echo cleaned up; exit" TERM; : >up; sleep 1000 & wait) 2>/dev/null &
	until [ -e up ]; do sleep .01; done; echo $$ >in_; mv in_ in; exec sleep 1000' & p=$!
await '[ -e in ]'
kill -STOP $p
kill $(cat in) $p
await '! kill -0 $(cat in) 2>/dev/null'
kill -CONT $p 2>/dev/null # which gets the signal when the command has ended by it; the guard may have continued it
wait $p; echo $?
flock -n f echo free
#> cleaned up
#> 143
#> free

### limit-a-handler-cleans-up
# needs: proc
for i in $(seq 12); do
	flock --limit 60 f$i sh -c 'trap "sh -c \"sleep .1; echo >>saved\"; exit" TERM; >up$0; sleep 1000 & wait' $i 2>/dev/null & p=$!
	await "[ -e up$i ]"
	{ kill -9 $p; wait $p; } 2>/dev/null # so that all get SIGTERM, as at the limit
done
for i in $(seq 12); do flock f$i true; done
wc -l <saved | tr -d ' '
#> 12

### limit-newcomers-are-not-asked
# needs: proc
flock --limit 60 f sh -c 'trap "sleep 1; echo slept >slept; exit" TERM; >up; sleep 1000 & wait' 2>/dev/null & p=$!
await '[ -e up ]'
{ kill -9 $p; wait $p; } 2>/dev/null
flock f cat slept
#> slept

### limit-setsid
# needs: setsid
flock --limit 60 f setsid sh -c 'echo in; exit 7'; echo $?
flock --kill-children f setsid sh -c 'sleep .2; echo in; exit 7'; echo $?
setsid -w flock --limit 60 f setsid sh -c 'echo in; exit 7'; echo $?
#> in
#> 7
#> in
#> 7
#> in
#> 7

### limit-setsid-python
# needs: python3 setsid
setsid -w flock --limit 60 f python3 -c 'import os; os.setsid(); print("in")'; echo $?
#> in
#> 0

### limit-setsid-at-its-limit
# needs: setsid
setsid -w flock --limit .3 f setsid sleep 1000; echo $?
flock -n f echo free
#> flock: setsid exceeded its limit of 0.3 s; terminating it
#> 124
#> free

### limit-kill-0
# needs: setsid
setsid -w flock --limit 60 f bash -c 'trap "echo cleaned up; trap - TERM; kill 0" EXIT; exit 3'; echo $?
setsid -w flock --limit 60 f sh -c 'kill -9 0'; echo $?
setsid -w flock --kill-children f sh -c 'sleep 1000 & kill -9 0'; echo $?
flock -n f echo free
#> cleaned up
#> 143
#> 137
#> 137
#> free

### limit-a-line-that-nobody-reads
mkfifo p
exec 8<>p
"$SELF" fill p
run() { # ERRORS OPTION...
	errors=$1
	shift
	flock "$@" --limit .2 f sh -c ': >started; exec sleep 1000' 2>>$errors >p & q=$!
	await '[ -e started ]'
	flock -w 20 f echo free
	{ kill $q; wait $q; } 2>/dev/null; echo $?
	rm started
}
run p
run log --verbose # by directory it says so before it locks
#> free
#> 143
#> free
#> 143

### limit-a-line-of-the-wait-that-nobody-reads
mkfifo p
exec 8<>p
"$SELF" fill p
for words in '' '--limit 60'; do
	hold f
	flock --report 0 $words f sh -c ': >started; until [ -e over ]; do read _ <../wake.over || exit; done; exit 3' 2>p & q=$!
	await 'waiting f'
	release
	await '[ -e started ]'; echo started
	announce over
	wait $q; echo $?
	rm started over
done
#> started
#> 3
#> started
#> 3

### limit-of-a-descriptor-and-a-line-that-nobody-reads
mkfifo p
exec 8<>p 9>f
"$SELF" fill p
flock --limit .2 --fd 9 sleep 1000 2>p & q=$!
exec 9>&-
{ sleep 1; while kill $q; do sleep .1; done; wait $q; } 2>/dev/null; echo $?
flock -w 20 f echo free
#> 143
#> free

### limit-closed-standard-error
flock --permits 2 --limit .2 f sleep 1000 2>&-; echo $?
wc -c <f | tr -d ' '
flock --limit .2 g sleep 1000 2>&-; echo $?
flock --kill-children g sh -c 'exit 3' 2>&- >&-; echo $?
wc -c <g | tr -d ' '
#> 124
#> 0
#> 124
#> 3
#> 0

### limit-ignored-sigcont
# needs: sigenv proc linux
(
	trap '' CONT
	flock --limit .2 f sleep 1000; echo $?
	# the guard must get it after the machine has slept; so the command has it at its default
	flock --limit 60 f sh -c 'echo $(($(sed -n "s/SigCgt:.*\(.....\)/0x\1/p" /proc/$PPID/status) >> 17 & 1))'
	flock --limit 60 f grep -c 'SigIgn:.*0....$' /proc/self/status
)
#> flock: sleep exceeded its limit of 0.2 s; terminating it
#> 124
#> 1
#> 1

### limit-proc-of-another-namespace
# needs: pidns proc
unshare -pf flock --limit 1 f echo in; echo $?
#> flock: cannot terminate a command and its descendants here: /proc does not list child processes here: No such file or directory
#> 71

### limit-orphans-may-not-come-to-the-guard
# needs: linux proc
# alike: it is about the guard
for o in --kill-children '--limit 60'; do
	"$SELF" without-subreaper "$(type -P flock)" $o f echo no; echo $?
done
#> flock: cannot terminate a command and its descendants here: prctl(2) for PR_SET_CHILD_SUBREAPER is refused: Operation not permitted
#> 71
#> flock: cannot terminate a command and its descendants here: prctl(2) for PR_SET_CHILD_SUBREAPER is refused: Operation not permitted
#> 71

### limit-proc-is-unmounted
# needs: pidns mount proc
unshare -mpf --mount-proc flock --limit 1 f sh -c 'umount -l /proc; sleep 1000; exit'; echo $?
flock -n f echo free
#> flock: sh exceeded its limit of 1 s; terminating it
#> 124
#> free
