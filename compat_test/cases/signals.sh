Signals to flock itself: they kill it as they kill a C program, and the lock is released or stays with its other holders.

### dies-waiting-of-$each
# each: HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM STKFLT XCPU XFSZ VTALRM PROF IO PWR SYS RTMIN RTMIN+3 RTMAX
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -$each $!
{ wait $!; } 2>/dev/null; echo $(($? - $(kill -l $each)))
release
flock -n f echo free
#> 128
#> free

### dies-running-of-$each
# each: HUP INT QUIT USR1 USR2 ALRM TERM PIPE RTMIN SEGV
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo >done' &
await '[ -e held ]'
kill -$each $!
{ wait $!; } 2>/dev/null; echo $(($? - $(kill -l $each)))
flock -n f echo in; echo $?
announce go
await '[ -e done ]'
await 'flock -n f true'
echo free
#> 128
#> 1
#> free

### death-is-a-signal-not-a-status
# needs: python3 proc
python3 - <<'END'
import os, resource, signal, subprocess, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for s in 'HUP INT QUIT USR1 USR2 ALRM TERM PIPE KILL'.split():
    p = subprocess.Popen(['flock', 'f', 'sh', '-c', 'echo >held; exec sleep 30 2>/dev/null'])
    while not os.path.exists('held'): time.sleep(.01)
    os.unlink('held')
    child = int(open('/proc/%d/task/%d/children' % (p.pid, p.pid)).read())
    p.send_signal(getattr(signal, 'SIG' + s))
    print(s, p.wait())
    os.kill(child, 9)
END
#> HUP -1
#> INT -2
#> QUIT -3
#> USR1 -10
#> USR2 -12
#> ALRM -14
#> TERM -15
#> PIPE -13
#> KILL -9

### death-while-waiting-is-a-signal-not-a-status
# needs: python3 locks
# kernel: /proc/locks shows when it waits
hold f
python3 - <<'END'
import os, resource, signal, subprocess, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
inode = ':%d ' % os.stat('f').st_ino
for s in 'HUP INT QUIT USR1 USR2 ALRM TERM PIPE KILL'.split():
    p = subprocess.Popen(['flock', 'f', 'echo', 'in'])
    while not any('->' in line and inode in line for line in open('/proc/locks')): time.sleep(.01)
    p.send_signal(getattr(signal, 'SIG' + s))
    print(s, p.wait())
END
release
#> HUP -1
#> INT -2
#> QUIT -3
#> USR1 -10
#> USR2 -12
#> ALRM -14
#> TERM -15
#> PIPE -13
#> KILL -9

### killed-by-KILL-leaves-the-lock
flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo >done' &
await '[ -e held ]'
{ kill -KILL $!; wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
flock -ns f echo in; echo $?
announce go
await '[ -e done ]'
await 'flock -n f true'
echo free
#> 137
#> 1
#> 1
#> free

### killed-by-$each-under-close-frees-the-lock
# each: KILL TERM
flock -o f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo >done' &
await '[ -e held ]'
{ kill -$each $!; wait $!; } 2>/dev/null; echo $(($? - $(kill -l $each)))
flock -n f echo in; echo $?
announce go
#> 128
#> in
#> 0

### killed-command-frees-the-lock
flock f sh -c 'echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -s pid ]'
flock -n f echo in; echo $?
kill -KILL "$(cat pid)"
wait $!; echo $?
await 'flock -n f true'
echo free
#> 1
#> 137
#> free

### killed-command-frees-the-lock-no-fork
flock -F f sh -c 'echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -s pid ]'
{ kill -KILL "$(cat pid)"; wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free
#> 137
#> free

### killed-both-frees-the-lock
flock f sh -c 'echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -s pid ]'
{ kill -KILL $! "$(cat pid)"; wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free
#> 137
#> free

### killed-waiter-leaves-the-queue
hold f
flock f echo never &
await 'waiting f'
flock f echo second &
await 'waiting f 2'
{ kill -KILL %2; wait %2; } 2>/dev/null; echo $?
release
wait
#> 137
#> second

### ignored-$each-is-ignored-while-waiting
# each: TERM USR1 USR2 PIPE ALRM HUP QUIT RTMIN
hold f
(trap '' $each; exec flock f echo second) &
await 'waiting f'
kill -$each $!; kill -$each $!
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### ignored-INT-is-ignored-while-running
(trap '' INT; exec flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; exit 4') &
await '[ -e held ]'
kill -INT $!
announce go
wait $!; echo $?
#> 4

### ignored-ALRM-and-w
hold f
(trap '' ALRM; exec flock -w .1 f echo in) &
wait $!; echo $?
release
#> 1

### blocked-ALRM-and-w
# needs: sigenv timeout
hold f
timeout -s KILL 10 env --block-signal=ALRM flock -w .1 -E 7 f echo in; echo $?
release
#> 137
# differs: 2.43 waits for ever for the signal that ends the wait
#> 7

### blocked-ALRM-is-not-pending-in-the-command
# needs: sigenv strace proc
# kernel: the system calls that are slow are those of kernel locks
strace -qqq -o trace -e trace=timer_delete -e inject=timer_delete:delay_enter=100000 \
	env --block-signal=ALRM flock -F -w .02 f grep -e SigBlk -e ShdPnd -e SigPnd /proc/self/status; echo $?
#> SigPnd:	0000000000000000
#> ShdPnd:	0000000000000000
#> SigBlk:	0000000000002000
#> 0

### default-ignored-signals-do-nothing
hold f
flock f echo second &
await 'waiting f'
for s in CHLD URG WINCH CONT; do kill -$s $!; done
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### default-ignored-signals-do-nothing-with-w
hold f
flock -w 20 f echo second &
await asleep
for s in CHLD URG WINCH CONT; do kill -$s $!; done
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### default-ignored-signals-do-nothing-while-running
flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; exit 4' &
await '[ -e held ]'
for s in CHLD URG WINCH CONT; do kill -$s $!; done
announce go
wait $!; echo $?
#> 4

### stopped-and-continued-while-waiting
# needs: states
hold f
flock f echo second &
await 'waiting f'
kill -STOP $!
await 'stopped $!'
kill -CONT $!
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### stopped-by-$each-while-waiting
# each: TSTP TTIN TTOU
# needs: states
hold f
set -m
flock f echo second &
await 'waiting f'
kill -$each $!
await 'stopped $!'
echo stopped
kill -CONT $!
release
wait $!; echo $?
#> stopped
#> second
#> 0

### stopped-by-TSTP-while-running
# needs: states
set -m
flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; exit 4' &
await '[ -e held ]'
kill -TSTP %1
await 'stopped $!'
echo stopped
flock -n f echo in; echo $?
announce go
kill -CONT %1
wait $!; echo $?
#> stopped
#> 1
#> 4

### stopped-while-waiting-with-w
# needs: states
hold f
flock -w 20 f echo second &
await asleep
kill -STOP $!
await 'stopped $!'
kill -CONT $!
await asleep
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### time-over-while-stopped
# needs: states
hold f
flock -w .5 f echo in &
await 'waiting f || ! kill -0 $! 2>/dev/null'
kill -STOP $! 2>/dev/null
await 'stopped $! || ! kill -0 $! 2>/dev/null'
sleep .7
kill -CONT $! 2>/dev/null
wait $!; echo $?
release
#> 1

### group-INT-ends-both
set -m
flock f sh -c 'trap "echo got it >got; exit 7" INT; echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e held ]'
kill -INT -- -$!
{ wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
cat got
#> 130
#> got it

### group-TERM-ends-both
set -m
flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e held ]'
kill -TERM -- -$!
{ wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free
#> 143
#> free

### group-INT-while-waiting
hold f
set -m
flock f echo in &
await 'waiting f'
kill -INT -- -$!
{ wait $!; } 2>/dev/null; echo $?
set +m
release
#> 130

### timeout-1-kills-the-waiter
# needs: timeout
hold f
timeout -s TERM .2 flock f echo in; echo $?
release
#> 124

### no-message-on-death
# needs: sigenv
ulimit -c 0
hold f
for s in QUIT ABRT SEGV USR1 TERM; do
	env --default-signal flock f echo in 2>err &
	await 'waiting f'
	kill -$s $!
	{ wait $!; } 2>/dev/null; echo "$s $?"
	wc -c <err | tr -d ' '
done
release
#> QUIT 131
#> 0
#> ABRT 134
#> 0
#> SEGV 139
#> 0
#> USR1 138
#> 0
#> TERM 143
#> 0

### children-get-no-signal-of-flocks
flock f sh -c 'trap "echo got it" TERM USR1; echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo >done' &
await '[ -e held ]'
kill -TERM $!
{ wait $!; } 2>/dev/null; echo $?
announce go
await '[ -e done ]'
#> 143

### ALRM-of-another-does-not-end-the-wait-of-w
hold f
flock -w 20 f echo second &
await 'waiting f'
kill -ALRM $!
await asleep
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### blocked-signal-while-waiting
# starts: --help, --version and --verbose write to standard output
# needs: sigenv linux
# runtime: the Go runtime unblocks such signals
hold f
: >pids
env --block-signal=TERM --block-signal=HUP bash -c 'for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
	flock --verbose -s f true >/dev/null &
	echo $! >>pids
done
for pid in $(cat pids); do
	{ wait $pid; } 2>/dev/null; echo $?
done' &
await '[ $(wc -l <pids) = 12 ]'
await 'waiting f 12'
kill -TERM $(cat pids)
kill -HUP $(cat pids)
release
wait
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0
