Signals to flock itself: they kill it as they kill a C program, and the lock is released or stays with its other holders.

### dies-waiting-of-HUP
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -HUP $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-INT
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -INT $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-QUIT
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -QUIT $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-ILL
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -ILL $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-TRAP
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -TRAP $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-ABRT
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -ABRT $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-BUS
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -BUS $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-FPE
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -FPE $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-USR1
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -USR1 $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-SEGV
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -SEGV $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-USR2
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -USR2 $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-PIPE
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -PIPE $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-ALRM
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -ALRM $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-TERM
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -TERM $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-STKFLT
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -STKFLT $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-XCPU
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -XCPU $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-XFSZ
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -XFSZ $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-VTALRM
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -VTALRM $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-PROF
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -PROF $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-IO
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -IO $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-PWR
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -PWR $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-SYS
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -SYS $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-RTMIN
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -RTMIN $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-RTMIN+3
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -RTMIN+3 $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-waiting-of-RTMAX
# needs: sigenv linux
ulimit -c 0
hold f
env --default-signal flock f echo in &
await 'waiting f'
kill -RTMAX $!
{ wait $!; } 2>/dev/null; echo $?
release
flock -n f echo free

### dies-running-of-HUP
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -HUP $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-INT
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -INT $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-QUIT
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -QUIT $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-USR1
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -USR1 $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-USR2
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -USR2 $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-ALRM
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -ALRM $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-TERM
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -TERM $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-PIPE
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -PIPE $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-RTMIN
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -RTMIN $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### dies-running-of-SEGV
# needs: sigenv linux
ulimit -c 0
env --default-signal flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -SEGV $!
{ wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

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

### killed-by-KILL-leaves-the-lock
flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
{ kill -KILL $!; wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
flock -ns f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock -n f true'
echo free

### killed-by-KILL-under-close-frees-the-lock
flock -o f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
{ kill -KILL $!; wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go

### killed-by-TERM-under-close-frees-the-lock
flock -o f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
{ kill -TERM $!; wait $!; } 2>/dev/null; echo $?
flock -n f echo in; echo $?
echo >go

### killed-command-frees-the-lock
flock f sh -c 'echo $$ >pid; until [ -e go ]; do sleep .01; done' &
await '[ -s pid ]'
flock -n f echo in; echo $?
kill -KILL "$(cat pid)"
wait $!; echo $?
await 'flock -n f true'
echo free

### killed-command-frees-the-lock-no-fork
flock -F f sh -c 'echo $$ >pid; until [ -e go ]; do sleep .01; done' &
await '[ -s pid ]'
{ kill -KILL "$(cat pid)"; wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free

### killed-both-frees-the-lock
flock f sh -c 'echo $$ >pid; until [ -e go ]; do sleep .01; done' &
await '[ -s pid ]'
{ kill -KILL $! "$(cat pid)"; wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free

### killed-waiter-leaves-the-queue
hold f
flock f echo never &
await 'waiting f'
flock f echo second &
await 'waiting f 2'
{ kill -KILL %2; wait %2; } 2>/dev/null; echo $?
release
wait

### ignored-TERM-is-ignored-while-waiting
hold f
(trap '' TERM; exec flock f echo second) &
await 'waiting f'
kill -TERM $!
kill -TERM $!
echo first
release
wait $!; echo $?

### ignored-INT-is-ignored-while-running
(trap '' INT; exec flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; exit 4') &
await '[ -e held ]'
kill -INT $!
echo >go
wait $!; echo $?

### ignored-USR1-is-ignored-while-waiting
hold f
(trap '' USR1; exec flock f echo second) &
await 'waiting f'
kill -USR1 $!
echo first
release
wait $!; echo $?

### ignored-USR2-is-ignored-while-waiting
hold f
(trap '' USR2; exec flock f echo second) &
await 'waiting f'
kill -USR2 $!
echo first
release
wait $!; echo $?

### ignored-PIPE-is-ignored-while-waiting
hold f
(trap '' PIPE; exec flock f echo second) &
await 'waiting f'
kill -PIPE $!
echo first
release
wait $!; echo $?

### ignored-ALRM-is-ignored-while-waiting
hold f
(trap '' ALRM; exec flock f echo second) &
await 'waiting f'
kill -ALRM $!
echo first
release
wait $!; echo $?

### ignored-HUP-is-ignored-while-waiting
hold f
(trap '' HUP; exec flock f echo second) &
await 'waiting f'
kill -HUP $!
echo first
release
wait $!; echo $?

### ignored-QUIT-is-ignored-while-waiting
hold f
(trap '' QUIT; exec flock f echo second) &
await 'waiting f'
kill -QUIT $!
echo first
release
wait $!; echo $?

### ignored-RTMIN-is-ignored-while-waiting
hold f
(trap '' RTMIN; exec flock f echo second) &
await 'waiting f'
kill -RTMIN $!
echo first
release
wait $!; echo $?

### ignored-ALRM-and-w
hold f
(trap '' ALRM; exec flock -w .1 f echo in) &
wait $!; echo $?
release

### default-ignored-signals-do-nothing
hold f
flock f echo second &
await 'waiting f'
for s in CHLD URG WINCH CONT; do kill -$s $!; done
echo first
release
wait $!; echo $?

### default-ignored-signals-do-nothing-with-w
hold f
flock -w 20 f echo second &
await 'waiting f'
for s in CHLD URG WINCH CONT; do kill -$s $!; done
echo first
release
wait $!; echo $?

### default-ignored-signals-do-nothing-while-running
flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; exit 4' &
await '[ -e held ]'
for s in CHLD URG WINCH CONT; do kill -$s $!; done
echo >go
wait $!; echo $?

### stopped-and-continued-while-waiting
# needs: proc
hold f
flock f echo second &
await 'waiting f'
kill -STOP $!
await 'grep -q ^State:.T /proc/$!/status'
kill -CONT $!
echo first
release
wait $!; echo $?

### stopped-by-TSTP-while-waiting
# needs: proc
hold f
set -m
flock f echo second &
await 'waiting f'
kill -TSTP $!
await 'grep -q ^State:.T /proc/$!/status'
echo stopped
kill -CONT $!
release
wait $!; echo $?

### stopped-by-TTIN-while-waiting
# needs: proc
hold f
set -m
flock f echo second &
await 'waiting f'
kill -TTIN $!
await 'grep -q ^State:.T /proc/$!/status'
echo stopped
kill -CONT $!
release
wait $!; echo $?

### stopped-by-TTOU-while-waiting
# needs: proc
hold f
set -m
flock f echo second &
await 'waiting f'
kill -TTOU $!
await 'grep -q ^State:.T /proc/$!/status'
echo stopped
kill -CONT $!
release
wait $!; echo $?

### stopped-by-TSTP-while-running
# needs: proc
set -m
flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; exit 4' &
await '[ -e held ]'
kill -TSTP %1
await 'grep -q ^State:.T /proc/$!/status'
echo stopped
flock -n f echo in; echo $?
echo >go
kill -CONT %1
wait $!; echo $?

### stopped-while-waiting-with-w
# needs: proc
hold f
flock -w 20 f echo second &
await 'waiting f'
kill -STOP $!
await 'grep -q ^State:.T /proc/$!/status'
kill -CONT $!
await 'waiting f'
echo first
release
wait $!; echo $?

### time-over-while-stopped
# needs: proc
hold f
flock -w .5 f echo in &
await 'waiting f'
kill -STOP $!
await 'grep -q ^State:.T /proc/$!/status || ! kill -0 $!'
sleep .7
kill -CONT $! 2>/dev/null
wait $!; echo $?
release

### group-INT-ends-both
set -m
flock f sh -c 'trap "echo got it >got; exit 7" INT; echo >held; until [ -e go ]; do sleep .01; done' &
await '[ -e held ]'
kill -INT -- -$!
{ wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
cat got

### group-TERM-ends-both
set -m
flock f sh -c 'echo >held; until [ -e go ]; do sleep .01; done' &
await '[ -e held ]'
kill -TERM -- -$!
{ wait $!; } 2>/dev/null; echo $?
await 'flock -n f true'
echo free

### group-INT-while-waiting
hold f
set -m
flock f echo in &
await 'waiting f'
kill -INT -- -$!
{ wait $!; } 2>/dev/null; echo $?
set +m
release

### timeout-1-kills-the-waiter
# needs: timeout
hold f
timeout -s TERM .2 flock f echo in; echo $?
release

### no-message-on-death
# needs: sigenv
ulimit -c 0
hold f
for s in QUIT ABRT SEGV USR1 TERM; do
	env --default-signal flock f echo in 2>err &
	await 'waiting f'
	kill -$s $!
	{ wait $!; } 2>/dev/null; echo "$s $?"
	wc -c <err
done
release

### children-get-no-signal-of-flocks
flock f sh -c 'trap "echo got it" TERM USR1; echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
kill -TERM $!
{ wait $!; } 2>/dev/null; echo $?
echo >go
await '[ -e done ]'


### ALRM-of-another-does-not-end-the-wait-of-w
hold f
flock -w 20 f echo second &
await 'waiting f'
kill -ALRM $!
await 'waiting f'
echo first
release
wait $!; echo $?

### blocked-signal-while-waiting
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
