Which locks exclude each other, which processes wait, and for how long.

### exclusive-excludes-exclusive
hold f
flock -n f echo in; echo $?
release
#> 1

### exclusive-excludes-shared
hold f
flock -ns f echo in; echo $?
release
#> 1

### shared-excludes-exclusive
hold -s f
flock -n f echo in; echo $?
release
#> 1

### shared-admits-shared
hold -s f
flock -ns f echo in; echo $?
release
#> in
#> 0

### shared-many
hold -s f; hold -s f; hold -s f
flock -ns f echo in; echo $?
flock -n f echo in; echo $?
release
flock -n f echo in; echo $?
#> in
#> 0
#> 1
#> in
#> 0

### released-with-the-command
flock f true
flock -n f echo in; echo $?
#> in
#> 0

### held-while-the-command-runs
flock f sh -c 'flock -n f echo in; echo $?'
#> 1

### held-by-c
flock f -c 'flock -n f echo in; echo $?'
#> 1

### held-by-a-background-child
flock f sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done &'
flock -n f echo in; echo $?
announce go
await 'flock -n f true'
echo free
#> 1
#> free

### other-file-is-another-lock
hold f
flock -n g echo in; echo $?
release
#> in
#> 0

### hard-link-is-the-same-lock
# kernel: a hard link is another name, and the directory lock is on the name
touch f
ln f g
hold f
flock -n g echo in; echo $?
release
#> 1

### symlink-is-the-same-lock
touch f
ln -s f g
hold f
flock -n g echo in; echo $?
release
#> 1

### same-file-by-other-paths
mkdir d
hold f
flock -n ./f echo in; echo $?
flock -n d/../f echo in; echo $?
flock -n "$PWD/f" echo in; echo $?
release
#> 1
#> 1
#> 1

### replaced-file-is-another-lock
# kernel: a kernel lock stays with the old file, the directory lock with the name
hold f
mv f g
flock -n f echo in; echo $?
release
#> in
#> 0

### waits-for-exclusive
hold f
flock f echo second &
await 'waiting f'
echo first
release
wait
#> first
#> second

### readers-get-in-together-past-writers
# needs: linux
hold f
flock -s f sh -c 'until [ -e in ]; do sleep .01; done' &
await 'waiting f'
for i in 1 2 3 4 5 6 7 8 9; do flock f true & done
await 'waiting f 10'
flock -s f sh -c ': >in' &
await 'waiting f 11'
release
AWAIT_TRIES=700 await '[ -e in ]' # a directory lock's waiters behind the first eight look every ten seconds by themselves
wait; echo all
#> all

### waits-for-shared
hold -s f
flock f echo second &
await 'waiting f'
echo first
release
wait
#> first
#> second

### shared-waits-for-exclusive
hold f
flock -s f echo second &
await 'waiting f'
echo first
release
wait
#> first
#> second

### several-shared-enter-together
hold f
for i in 1 2 3; do
	flock -s f sh -c "echo >in.$i; until [ -e in.1 ] && [ -e in.2 ] && [ -e in.3 ]; do sleep .01; done; echo together" &
done
await 'waiting f 3'
release
wait
#> together
#> together
#> together

### waiters-enter-one-by-one
hold f
for i in 1 2 3 4 5 6; do
	flock f bash -c 'mkdir place || echo two; rmdir place; echo in' &
done
await 'waiting f 6'
echo none yet
release
wait
#> none yet
#> in
#> in
#> in
#> in
#> in
#> in

### waits-on-descriptor
hold f
exec 9>f
{ flock 9; echo second; } &
await 'waiting f'
echo first
release
wait
#> first
#> second

### waits-with-c
hold f
flock f -c 'echo second' &
await 'waiting f'
echo first
release
wait
#> first
#> second

### waits-no-fork
hold f
flock -F f echo second &
await 'waiting f'
echo first
release
wait
#> first
#> second

### waits-on-directory
mkdir d
hold d
flock d echo second &
await 'waiting d'
echo first
release
wait
#> first
#> second

### w-gets-it-in-time
hold f
flock -w 25 f echo second &
await asleep
echo first
release
wait $!; echo $?
#> first
#> second
#> 0

### w-time-over-E
hold f
flock -w .05 f echo in; echo $?
flock -w .05 -E 66 f echo in; echo $?
release
#> 1
#> 66

### w-is-not-early
# needs: python3
hold f
python3 -c "import subprocess, time
for t in '.2', '0.35':
    start = time.monotonic()
    status = subprocess.call(['flock', '-w', t, 'f', 'true'])
    print(status, float(t) <= time.monotonic() - start < 5)"
release
#> 1 True
#> 1 True

### w-0-is-nonblock
hold f
flock -w 0 f echo in; echo $?
flock -w 0 -E 9 f echo in; echo $?
release
flock -w 0 f echo in; echo $?
#> 1
#> 9
#> in
#> 0

### w-zeroes
hold f
for t in 0.0 .0 0. 0e5 -0 +0 00 1e-9 0.0000001; do
	flock --verbose -w $t f echo in; echo "$t $?"
done
release
#> 0.0 1
#> .0 1
#> 0. 1
#> 0e5 1
#> -0 1
#> +0 1
#> 00 1
#> 1e-9 1
#> 0.0000001 1
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock

### w-number-forms
# starts: numbers with blanks and signs, and exponents
for t in .5 1. 1e3 ' 1' +1 1e+1 1E2 007; do
	flock -w "$t" f echo "$t"
done
#> .5
#> 1.
#> 1e3
#>  1
#> +1
#> 1e+1
#> 1E2
#> 007

### w-hexadecimal
# starts: hexadecimal numbers
for t in 0x10 0X1p3 +0x.8 0x1.8P-1; do
	flock -w "$t" f echo "$t"
done
hold f
for t in 0x.08 0x1p-5 0x0; do
	flock -w "$t" -E 7 f echo in; echo "$t $?"
done
release
#> 0x10
#> 0X1p3
#> +0x.8
#> 0x1.8P-1
#> 0x.08 7
#> 0x1p-5 7
#> 0x0 7

### w-numbers-of-other-languages
# starts: such numbers
for t in 1_0 0x1_0 0b1 0o7 0x1g 0xp1 0x1p 1f 0d1; do
	flock -w "$t" f echo in 2>/dev/null; echo "[$t] $?"
done
#> [1_0] 64
#> [0x1_0] 64
#> [0b1] 64
#> [0o7] 64
#> [0x1g] 64
#> [0xp1] 64
#> [0x1p] 64
#> [1f] 64
#> [0d1] 64

### w-number-forms-on-a-held-lock
# starts: numbers with blanks and signs, and exponents
hold f
for t in .03 3e-2 ' .03' +.03 0.03 030e-3; do
	flock -w "$t" f echo in; echo "$t $?"
done
release
#> .03 1
#> 3e-2 1
#>  .03 1
#> +.03 1
#> 0.03 1
#> 030e-3 1

### w-1-microsecond
# derived: it sets a timer of one microsecond; older releases do not wait
# since: 2.43
hold f
flock --verbose -w .000001 f echo in; echo $?
release
# script: e8c7b36ce396
#> 1
#2> flock: timeout while waiting to get lock

### w-bad-numbers
# starts: numbers with blanks and signs, and exponents
for t in abc '' 1,5 1s 1n . - + 1e 0x '1 ' 1.2.3 '1 2' 1m --; do
	flock -w "$t" f echo in 2>/dev/null; echo "[$t] $?"
done
ls
#> [abc] 64
#> [] 64
#> [1,5] 64
#> [1s] 64
#> [1n] 64
#> [.] 64
#> [-] 64
#> [+] 64
#> [1e] 64
#> [0x] 64
#> [1 ] 64
#> [1.2.3] 64
#> [1 2] 64
#> [1m] 64
#> [--] 64

### w-with-u
exec 9>f
flock 9
flock -w 1 -u 9; echo $?
flock -n f echo free
#> 0
#> free

### w-leaves-no-timer-behind
flock -w .3 f sh -c 'until [ -e late ]; do read _ <../wake.late || exit; done; echo finished' &
sleep .5
announce late
wait $!; echo $?
#> finished
#> 0

### w-leaves-no-timer-behind-no-fork
flock -F -w .3 f sh -c 'until [ -e late ]; do read _ <../wake.late || exit; done; echo finished' &
sleep .5
announce late
wait $!; echo $?
#> finished
#> 0

### n-on-a-free-file
flock -n f echo in; echo $?
#> in
#> 0

### n-does-not-run-the-command
hold f
flock -n f touch ran; echo $?
release
ls
#> 1
#> f

### n-on-descriptor-of-the-holder
exec 9>f
flock -n 9; echo $?
flock -n 9; echo $?
#> 0
#> 0

### u-then-others-enter
exec 9>f
flock 9
flock f echo second &
await 'waiting f'
echo first
flock -u 9
wait $!
#> first
#> second

### convert-down
exec 9>f
flock 9
flock -ns f echo in; echo $?
flock -s 9; echo $?
flock -ns f echo in; echo $?
flock -n f echo in; echo $?
#> 1
#> 0
#> in
#> 0
#> 1

### convert-up
exec 9>f
flock -s 9
flock -ns f echo in; echo $?
flock 9; echo $?
flock -ns f echo in; echo $?
#> in
#> 0
#> 0
#> 1

### one-of-two-numbers-is-closed
exec 8<>f 9<>f
flock -sn 8; flock -sn 9
exec 8<&-
flock -xn 9; echo $?
flock -sn f echo in; echo $?
exec 9<&-
flock -n f echo in
#> 0
#> 1
#> in

### convert-up-refused
# needs: linux
exec 8>f 9>f
flock -s 8; flock -s 9
flock -n -x 9; echo $?
flock -u 8
flock -n f echo lost; echo $?
#> 1
#> lost
#> 0

### convert-up-waits
exec 9>f
hold -s f
flock -s 9
flock -x 9 &
await 'waiting f'
release
wait $!; echo $?
flock -ns f echo in; echo $?
#> 0
#> 1

### convert-down-lets-the-waiter-in
exec 9>f
flock 9
flock -s f echo reader &
await 'waiting f'
echo writer
flock -s 9
wait $!
#> writer
#> reader

### relock-same-mode
exec 9>f
flock -s 9; flock -s 9; echo $?
flock -x 9; flock -x 9; echo $?
flock -u 9; flock -u 9; echo $?
#> 0
#> 0
#> 0

### nested-different-files
flock a flock b flock c sh -c 'for f in a b c; do flock -n $f true; echo $?; done'
#> 1
#> 1
#> 1

### nested-same-file-n
flock f flock -n f echo in; echo $?
#> 1

### nested-shared
flock -s f flock -s f echo in; echo $?
#> in
#> 0

### ours-waits-for-the-reference
# needs: reflock
# kernel: the holder is another program, which uses kernel locks
rehold f
flock f echo second &
await 'waiting f'
flock -n f echo in; echo $?
echo first
release
wait
#> 1
#> first
#> second

### reference-waits-for-ours
# needs: reflock
# kernel: the waiter is another program, which uses kernel locks
hold f
reflock f echo second &
await 'waiting f'
reflock -n f echo in; echo $?
echo first
release
wait
#> 1
#> first
#> second

### shared-with-the-reference
# needs: reflock
# kernel: the holder is another program, which uses kernel locks
rehold -s f
flock -ns f echo in; echo $?
flock -n f echo in; echo $?
release
hold -s f
reflock -ns f echo in; echo $?
reflock -n f echo in; echo $?
release
#> in
#> 0
#> 1
#> in
#> 0
#> 1

### descriptor-with-the-reference
# needs: reflock
# kernel: the other is another program, which uses kernel locks
exec 8>f 9>f
flock 9
reflock -n 8; echo $?
reflock -u 9
reflock -n 8; echo $?
flock -n 9; echo $?
flock -u 8
flock -n 9; echo $?
#> 1
#> 0
#> 1
#> 0

### mixed-queue
# needs: reflock
# kernel: half of the lockers are another program, which uses kernel locks
hold f
for i in 1 2 3; do
	flock f bash -c 'mkdir place || echo two; rmdir place; echo in' &
	reflock f bash -c 'mkdir place || echo two; rmdir place; echo in' &
done
await 'waiting f 6'
release
wait
#> in
#> in
#> in
#> in
#> in
#> in

### python-flock-holds
# needs: python3
# kernel: the holder is another program, which uses kernel locks
python_holds 'flock(f, fcntl.LOCK_EX)'
flock -n f echo in; echo $?
flock f echo second &
await 'waiting f'
announce go
wait
#> 1
#> second

### python-flock-shared-holds
# needs: python3
# kernel: the holder is another program, which uses kernel locks
python_holds 'flock(f, fcntl.LOCK_SH)'
flock -ns f echo in; echo $?
flock -n f echo in; echo $?
announce go
wait
#> in
#> 0
#> 1

### python-flock-refused
# needs: python3
# kernel: the other is another program, which uses kernel locks
cat >try.py <<'END'
import fcntl
f = open('f', 'w')
for mode in fcntl.LOCK_SH, fcntl.LOCK_EX:
    try:
        fcntl.flock(f, mode | fcntl.LOCK_NB)
        print('in')
    except OSError as e:
        print(e.strerror)
END
flock f python3 try.py
flock -s f python3 try.py
#> Resource temporarily unavailable
#> Resource temporarily unavailable
#> in
#> Resource temporarily unavailable

### python-lockf-is-independent
# needs: python3 linux
# kernel: flock(2) and fcntl(2) locks do not see each other
flock f python3 -c "import fcntl
f = open('f', 'w')
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('in')"
#> in

### python-takes-over-the-descriptor
# needs: python3
# kernel: the other is another program, which uses kernel locks
exec 9>f
flock 9
python3 -c "import fcntl
fcntl.flock(9, fcntl.LOCK_UN)"
flock -n f echo free; echo $?
#> free
#> 0

### proc-locks-modes
# needs: locks
# kernel: /proc/locks
for mode in -x -s; do flock $mode f bash -c 'locks_of f | tr -s " " | cut -d" " -f2-4,7-'; done
#> FLOCK ADVISORY WRITE 0 EOF
#> FLOCK ADVISORY READ 0 EOF

### proc-locks-owner-is-flock
# needs: locks
# kernel: /proc/locks
flock f bash -c 'locks_of f | tr -s " " | grep -c " $PPID "'
#> 1

### proc-locks-owner-no-fork
# needs: locks
# kernel: /proc/locks
flock -F f bash -c 'locks_of f | tr -s " " | grep -c " $$ "'
#> 1

### proc-locks-waiter
# needs: locks
# kernel: /proc/locks
hold f
flock -s f true &
await 'waiting f'
locks_of f | tr -s " " | cut -d" " -f2-5 | sed 's/ [0-9]*$//'
release
wait
#> FLOCK ADVISORY WRITE
#> -> FLOCK ADVISORY READ

### proc-locks-nothing-after-u
# needs: locks
# kernel: /proc/locks
exec 9>f
flock 9; flock -u 9
locks_of f | wc -l | tr -d " "
#> 0

### lslocks-shows-it
# needs: lslocks locks
# kernel: lslocks
hold f
# While other locks come and go, lslocks shows a lock twice, or not at all.
await 'lslocks -n -r -o TYPE,MODE,M,START,END,PATH | grep " $PWD/f\$" >line'
head -n 1 line
release
#> FLOCK WRITE 0 0 0 $DIR/f

### waits-without-waking
# needs: proc locks
hold f
flock f true &
await 'waiting f'
await 'grep -q ^State:.S /proc/$!/status'
switches() { cat /proc/$1/task/*/status | awk '/voluntary_ctxt/ { n += $2 } END { print n }'; }
for try in 1 2 3 4 5 6; do
	before=$(switches $!)
	sleep .25
	[ "$(switches $!)" != "$before" ] || { echo asleep; break; }
done
release
wait
#> asleep

### queue-of-eight
echo 0 >count
for i in 1 2 3 4 5 6 7 8; do
	for j in 1 2 3; do
		flock f bash -c 'read n <count; echo $((n + 1)) >count'
	done &
done
wait
cat count
#> 24

### w-0-and-then-another-w
hold f
flock -w 0 -w 20 f echo got &
await asleep
release
wait $!; echo $?
#> got
#> 0

### w-and-then-w-0
hold f
flock -w 20 -w 0 f echo got; echo $?
release
#> 1

### two-that-upgrade-with-w
upgrade() {
	exec 9<>f
	flock -s 9
	: >shared.$1
	await '[ -e shared.1 ] && [ -e shared.2 ]'
	flock -w $((20 * $1)) 9; echo $? # where both keep what they have, the first one gives way
}
upgrade 1 & upgrade 2 &
wait
#> 0
#> 0
