--report: who has the lock.

### report-refused
# needs: proc
echo ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock -F f sh job.sh & holder=$!
await '[ -e has ]'
says() { flock "$@" 2>&1 | sed "s/process $holder /process HOLDER /; s/for [0-9]* s/for N s/"; echo ${PIPESTATUS[0]}; }
says --report 0 -n f true
#> flock: f is held by process HOLDER (sh job.sh), running for N s
#> 1
says --report 100 -n -E 7 f true
#> flock: f is held by process HOLDER (sh job.sh), running for N s
#> 7
says --report=100 -w .2 f true
#> flock: f is held by process HOLDER (sh job.sh), running for N s
#> 1
says --report 0 -n -s f true
#> flock: f is held by process HOLDER (sh job.sh), running for N s
#> 1
says --report 0 -n --permits 2 f true
#> flock: f is held by process HOLDER (sh job.sh), running for N s
#> 1
exec 9>>f
says --report 0 -n 9
#> flock: descriptor 9 is held by process HOLDER (sh job.sh), running for N s
#> 1
says --report 0 -n --fd 9 true
#> flock: descriptor 9 is held by process HOLDER (sh job.sh), running for N s
#> 1
announce go; wait

### report-while-waiting
# needs: proc
echo ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock -F f sh job.sh & holder=$!
await '[ -e has ]'
flock --report .3 f echo in >out 2>&1 & waiter=$!
await 'grep -qs "waiting for" out'
head -n 1 out | sed "s/process $holder /process HOLDER /; s/for [0-9]* s/for N s/" # the next one comes later
#> flock: waiting for f, held by process HOLDER (sh job.sh), running for N s
exec 9>>f
flock --report 0 9 >out9 2>&1 & waiter="$waiter $!"
await 'grep -qs "waiting for" out9'
head -n 1 out9 | sed "s/process $holder /process HOLDER /; s/for [0-9]* s/for N s/"
#> flock: waiting for descriptor 9, held by process HOLDER (sh job.sh), running for N s
exec 9>&-
announce go; wait $holder $waiter
grep in$ out
#> in

### report-again-while-the-wait-lasts
hold f; : >out
flock --report .05 f sh -c 'echo in; sleep .5' >>out 2>&1 & waiter=$!
await '[ $(grep -c "waiting for f, held by" out) -ge 4 ]'
release; wait $waiter
sed -n '/^in$/,$p' out
#> in

### report-of-a-flock-with-another-name
# needs: proc
cp "$(type -P flock)" fl
./fl f sh -c 'echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -s pid ]'
./fl --report 0 -n f true 2>&1 | sed "s/process $(cat pid) /process COMMAND /; s/for [0-9]* s/for N s/"
#> fl: f is held by process COMMAND (sh -c echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done), running for N s
announce go; wait $holder

### report-of-a-cooldown-alone

# Where the system does not show who holds a lock, the cooldown is known all the same.
flock --cooldown 600 y true
flock -n --report 0 --cooldown 600 y true 2>&1 | sed 's/until .*/until T/'
#> flock: y is in its cooldown until T

### report-of-a-short-wait
hold f
flock --report 100 f echo in & waiter=$!
await 'waiting f'
release; wait $waiter
#> in
flock --report 0 f echo at once
#> at once

### report-keeps-the-place
# kernel: the directory lock knows an order only roughly
# needs: locks

# who has waited for longer gets the lock first
hold f
flock --report .1 f sh -c 'echo first >>order' 2>out & await 'waiting f'
flock f sh -c 'echo second >>order' & await 'waiting f 2'
await 'grep -qs "waiting for" out'
release; wait; cat order
#> first
#> second

### report-several
# needs: proc
echo ': >$1; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock -s -F f sh job.sh a & oldest=$!
await '[ -e a ]'; sleep .05
flock -s f sh job.sh b & flock -s f sh job.sh c &
await '[ -e b ] && [ -e c ]'
flock --report 0 -n f true 2>&1 | sed "s/process $oldest /process OLDEST /; s/for [0-9]* s/for N s/"
#> flock: f is held by process OLDEST (sh job.sh a), running for N s, and 2 more
announce go; wait

### report-a-long-command-line
# needs: proc
long=$(printf %0200d 0)
flock -F f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' "$long" & holder=$!
await '[ -e has ]'
flock --report 0 -n f true 2>&1 | sed "s/process $holder /process HOLDER /; s/for [0-9]* s/for N s/"
#> flock: f is held by process HOLDER (sh -c : >has; until [ -e go ]; do read _ <../wake.go || exit; done 0000000000000...), running for N s
announce go; wait

### report-cooldown
: >f; TZ=UTC touch -t 203812311200 f
TZ=UTC flock --report 0 -n --cooldown 1 f true; echo $?
#> flock: f is in its cooldown until 2038-12-31 12:00:00 +0000
#> 1
flock --report 0 -n f echo in
#> in

### report-the-queue-is-full
# needs: proc
echo ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock -F f sh job.sh & holder=$!
await '[ -e has ]'
flock --queue 1 f true & waiter=$!
await 'placed $!'
flock --report 5 --queue 1 f true 2>&1 | sed "s/process $holder /process HOLDER /; s/for [0-9]* s/for N s/"
#> flock: f is held by process HOLDER (sh job.sh), running for N s; its queue is full
announce go; wait

### report-of-one-that-cannot-be-seen
# kernel: /proc/locks has no process for it
# needs: root setpriv
: >f; chmod 666 f
flock --fcntl -F f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
setpriv --reuid 65534 --clear-groups flock --fcntl --report 0 -n f true; echo $?
#> flock: f is held by a process that this user may not see
#> 1
announce go; wait

### report-of-a-new-file-that-its-owner-may-not-read
# needs: root setpriv
# kernel: the state directory of the directory lock must be readable
chmod 777 .
setpriv --reuid 65534 --clear-groups sh -c 'umask 0477; exec flock --report 0 new echo in'
#> in

### report-what-is-left-behind
# needs: linux proc
flock --report 100 f sh -c 'sleep 100 & echo $! >pid; until grep -qa ^sleep /proc/$!/cmdline; do :; done' 2>out; echo $?
#> 0
sed "s/process $(cat pid) /process LEFT /" out
#> flock: f is still held by process LEFT (sleep 100); -o would prevent that
flock --report 0 -o g sh -c 'sleep 100 & echo $! >>pid; exit 3'; echo $?
#> 3
flock --report 0 -s h sh -c 'sleep 100 & echo $! >>pid'
kill $(cat pid)
flock --report 0 g true

### report-what-is-left-behind-on-a-fifo
# needs: linux proc
# kernel: the directory lock is for files and directories
mkfifo q; exec 6<>q
flock --report 100 q sh -c 'sleep 100 & echo $! >pid; until grep -qa ^sleep /proc/$!/cmdline; do :; done' 2>out
sed "s/process $(cat pid) /process LEFT /" out
#> flock: q is still held by process LEFT (sleep 100); -o would prevent that
kill $(cat pid)

### report-what-is-left-behind-beside-a-waiter
# needs: linux proc
flock --report 1000 f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done; sleep 100 & echo $! >pid
	until grep -qa ^sleep /proc/$!/cmdline; do :; done' 2>out & holder=$!
await '[ -e has ]'
flock f echo next & waiter=$!
await 'waiting f'
announce go; wait $holder
sed "s/process $(cat pid) /process LEFT /" out
#> flock: f is still held by process LEFT (sleep 100); -o would prevent that
kill $(cat pid); wait $waiter
#> next

### report-of-a-security-policy
# needs: strace linux
# kernel: it is the answer of a lock call
denied() { strace -f -qqq -o trace -e trace=flock -e inject=flock:error=EACCES flock "$@"; echo $?; }
: >f
denied --report 0 -n f true
#> flock: f: Permission denied: a security policy may forbid locks on it
#> 1
denied --verbose -w 1 -E 7 f true
#> flock: f: Permission denied: a security policy may forbid locks on it
#> flock: failed to get lock
#> 7
denied --report 0 --queue 1 f true
#> flock: f: Permission denied: a security policy may forbid locks on it
#> 1
denied --report 0 -n --permits 2 f true
#> flock: f: Permission denied: a security policy may forbid locks on it
#> 1
exec 9<f
denied --report 0 9
#> flock: descriptor 9: Permission denied: a security policy may forbid locks on it
#> 1

### report-of-a-lock-that-waits-for-itself
# needs: linux proc
echo 'flock --report 100 -n f true; echo $?' >migrate.sh
echo 'sh migrate.sh; :' >deploy.sh
says() { "$@" 2>&1 | sed "s/process [0-9]* /process N /"; }
says flock f sh deploy.sh
#> flock: f is held by process N (sh deploy.sh), which waits for this one
#> 1
says flock -o f sh deploy.sh
#> flock: f is held by process N (flock -o f sh deploy.sh), which waits for this one
#> 1
says flock -F f sh deploy.sh
#> flock: f is held by process N (sh deploy.sh), which waits for this one
#> 1
says flock --limit 1000 f sh deploy.sh
#> flock: f is held by process N (sh deploy.sh), which waits for this one
#> 1
says sh -c 'exec 9>>f; flock -s 9; sh deploy.sh; :'
#> flock: f is held by process N (sh -c exec 9>>f; flock -s 9; sh deploy.sh; :), which waits for this one
#> 1
says flock f flock --verbose -n f true | grep 'f is'
#> flock: f is held by process N (flock f flock --verbose -n f true), which waits for this one

### report-at-once-that-it-waits-for-itself
# needs: linux proc
exec 9>>f; flock 9
for option in '--report 1000' --verbose; do
	flock $option f true 9>&- 2>err >out & waiter="$waiter $!"
	await 'grep -qs "^flock: waiting for f, held by process $$ (.*), which waits for this one$" err'
done
exec 9>&-; wait $waiter; echo $?
#> 0

### report-of-others-than-those-that-wait-for-this-one
# kernel: ranges
# needs: linux locks
says() { "$@" 2>&1 | sed "s/process [0-9]* ([^)]*)/process N/; s/, running for [0-9]* s//"; }
hold --start 10 --length 10 f
says flock --start 0 --length 10 f flock --report 0 -n --start 10 --length 5 f true
#> flock: f is held by process N
says flock --start 0 --length 10 f flock --report 0 -n --start 9 --length 5 f true
#> flock: f is held by process N, which waits for this one
release
hold --permits 2 f
says flock --permits 2 f flock --report 0 -n --permits 2 f true
#> flock: f is held by process N, and 1 more
says flock --permits 2 f flock --report 0 -n f true
#> flock: f is held by process N, which waits for this one
release
# its own open file keeps it
hold --fcntl -s f
exec 9<>f; flock --fcntl -s 9
says flock --fcntl --report 0 -n 9 | grep -c 'which waits'
#> 0
release

### report-names-only-who-is-in-the-way
# needs: linux proc
hold -s f
hold --permits 2 f
flock --permits 1 --report 0 -n f true 2>&1 | sed "s/process [0-9]* ([^)]*)/process N/; s/, running for [0-9]* s//"
#> flock: f is held by process N
release

### report-in-a-cooldown-beside-a-lock-of-bytes
# kernel: locks of bytes
hold --start 5 --length 1 f
flock --cooldown 600 f true
flock -n --report 0 --cooldown 600 f true 2>&1 | sed 's/until .*/until T/'
#> flock: f is in its cooldown until T
release

### report-says-nothing-about-the-next-holder
# kernel: the kernel tells who has taken the lock
for i in 1 2 3 4; do
	for j in {1..12}; do flock --report 1000 f sh -c 'echo >>ran'; done &
done
wait
wc -l <ran | tr -d ' '
#> 48

### report-the-next-holder-is-not-one-left-behind
# needs: strace
# kernel: the kernel tells who has taken the lock
strace -f -qqq -o /dev/null -e trace=flock -e inject=flock:delay_enter=1000000:when=2 \
	flock --report 1000 f sh -c ': >first; until [ -e go ]; do read _ <../wake.go || exit; done' & p=$!
await '[ -e first ]'
flock f sh -c ': >next; until [ -e over ]; do read _ <../wake.over || exit; done' &
await 'waiting f'
announce go
await '[ -e next ]'
wait $p; echo $?
announce over
wait
#> 0

### report-looks-at-no-other-process-after-a-run
# needs: strace proc
# kernel: the kernel tells that nobody has the lock
looks() { strace -f -qqq -e trace=openat -o trace flock --report 1000 "$@" 2>/dev/null; grep -c 'openat(AT_FDCWD, "/proc/[0-9]*/fd' trace; }
looks f true
#> 0
mkdir d; looks d true
#> 0
looks f sh -c 'while kill -0 $PPID; do sleep .01; done &' | grep -c '^0' # it ends when flock has
#> 0

### report-verbose-looks-at-no-other-process
# needs: strace proc linux
# kernel: the directory lock has a list of its own
hold f; sleep 100 & other=$!
strace -f -qqq -e trace=openat -o trace flock --verbose -n f true 2>err; echo $?
grep -c "\"/proc/$other/fd" trace
grep -q "\"/proc/$$/fd" trace; echo $?
kill $other; release; wait
#> 1
#> 0
#> 0

### report-close-does-nothing-to-a-descriptor
exec 9>f
flock --report 0 -o 9; echo $?
#> flock: -o does not close a descriptor of the caller
#> flock: start what must not keep the lock with 9>&-
#> 0
flock --report 0 -o --fd 9 true
flock -o 9

### report-numbers
for s in -1 x '' 5s; do flock --report "$s" f true; echo $?; done
#> flock: invalid time of a report: '-1'
#> 64
#> flock: invalid time of a report: 'x'
#> 64
#> flock: invalid time of a report: ''
#> 64
#> flock: invalid time of a report: '5s'
#> flock: a time is a number of seconds, without a unit: did you mean 5?
#> 64
flock --report inf f echo in
#> in
flock --report 1 -u f true; echo $?
#> flock: --queue and --report cannot be combined with --unlock
#> 64

### report-that-cannot-be-written
# needs: full
flock f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
flock --report 0 f sh -c 'exit 5' 2>/dev/full & waiter=$!
await 'asleep 1'
announce go; wait $holder; wait $waiter; echo $?
#> 5

### report-names-the-command
# needs: proc
echo ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' >job.sh
flock f flock g sh job.sh & flock=$!
await '[ -e has ]'
flock --report 0 -n f true 2>&1 | sed "s/process $flock /process FLOCK /; s/process [0-9]* /process JOB /; s/for [0-9]* s/for N s/"
#> flock: f is held by process JOB (sh job.sh), running for N s
announce go; wait
flock -o f sh -c ': >old; until [ -e over ]; do read _ <../wake.over || exit; done' & flock=$!
await '[ -e old ]'
flock --report 0 -n f true 2>&1 | sed "s/process $flock (.*)/process FLOCK/; s/for [0-9]* s/for N s/"
#> flock: f is held by process FLOCK, running for N s
announce over; wait

### report-verbose-says-each-line-once
# directory: only
hold f
flock --verbose --queue 1 f echo in >out 2>&1 & waiter=$!
await 'asleep'
release; wait $waiter
sort out | uniq -d
grep -c 'using the directory lock' out
#> 1

### report-says-nothing-about-other-bytes
# needs: linux proc
# kernel: by a directory lock no range is locked
flock --start 10 --length 10 f sh -c ': >in; until [ -e go ]; do read _ <../wake.go || exit; done' & other=$!
await '[ -e in ]'
flock --start 0 --length 10 --report 100 f true; echo $?
#> 0
announce go; wait $other
