FLOCK_PERMIT: which of the permits a command has.

### permits-which-each-its-own

# One job for each GPU, and never two on one.
for i in 1 2 3 4; do
	flock --permits 4 f sh -c 'echo "GPU $((FLOCK_PERMIT - 1))"; : >in.$FLOCK_PERMIT; until [ -e go ]; do read _ <../wake.go || exit; done' &
done >out
await '[ -e in.1 ] && [ -e in.2 ] && [ -e in.3 ] && [ -e in.4 ]'
flock -n --permits 4 f printenv FLOCK_PERMIT; echo $?
#> 1
announce go; wait
sort out
#> GPU 0
#> GPU 1
#> GPU 2
#> GPU 3

### permits-which-the-lowest-that-is-free
flock --permits 3 f sh -c ': >in; until [ -e go1 ]; do read _ <../wake.go1 || exit; done' & first=$!
await '[ -e in ]'; rm in
flock --permits 3 f sh -c 'echo second $FLOCK_PERMIT; : >in; until [ -e go2 ]; do read _ <../wake.go2 || exit; done' & second=$!
await '[ -e in ]'
#> second 2
flock --permits 3 f sh -c 'echo third $FLOCK_PERMIT'
#> third 3
announce go1; wait $first
flock --permits 3 f sh -c 'echo fourth $FLOCK_PERMIT'
#> fourth 1
announce go2; wait $second

### permits-which-a-waiter-gets-the-number-that-becomes-free
flock --permits 2 f sh -c ': >in; until [ -e go1 ]; do read _ <../wake.go1 || exit; done' & first=$!
await '[ -e in ]'; rm in
flock --permits 2 f sh -c 'echo $FLOCK_PERMIT >in; until [ -e go2 ]; do read _ <../wake.go2 || exit; done' & second=$!
await '[ -s in ]'
flock -w 100 --permits 2 f sh -c 'echo waiter $FLOCK_PERMIT' & waiter=$!
flock -n --permits 2 f true; echo $?
#> 1
await asleep
announce go2; wait $second $waiter
#> waiter 2
announce go1; wait $first

### permits-which-workers

# Twenty tasks on three ports: nobody meets another one at its port.
task() { exclusive port.$FLOCK_PERMIT sleep .0$((RANDOM % 3)); echo $FLOCK_PERMIT >>ports; }
export -f task exclusive
for i in {1..20}; do flock --permits 3 f bash -c task & done; wait
sort -u ports; wc -l <ports | tr -d ' '
#> 1
#> 2
#> 3
#> 20

### permits-which-in-every-form
flock --permits 2 f printenv FLOCK_PERMIT
#> 1
flock --permits 2 f -c 'echo $FLOCK_PERMIT'
#> 1
flock -o --permits 2 f printenv FLOCK_PERMIT
#> 1
flock -F --permits 2 f printenv FLOCK_PERMIT
#> 1
flock -n -w 5 --permits=2 f printenv FLOCK_PERMIT
#> 1
flock --queue 1 --report 5 --permits 2 f printenv FLOCK_PERMIT
#> 1
flock --permits 2 f sh -c 'flock --permits 2 f printenv FLOCK_PERMIT; echo $FLOCK_PERMIT'
#> 2
#> 1

### permits-which-with-a-guard
# needs: proc
flock --limit 100 --permits 2 f printenv FLOCK_PERMIT
#> 1
flock --kill-children --permits 2 f sh -c 'flock --kill-children --permits 2 f printenv FLOCK_PERMIT; echo $FLOCK_PERMIT'
#> 2
#> 1

### permits-which-of-a-descriptor

# A script has its number for as long as the descriptor is open.
exec 9<>gpu.lock
gpu=$(flock --permits 4 --fd 9 printenv FLOCK_PERMIT); echo $gpu
#> 1
flock -n --permits 4 gpu.lock printenv FLOCK_PERMIT
#> 2
flock --permits 4 --fd 9 printenv FLOCK_PERMIT
#> 1
flock -u --permits 4 9
flock -n --permits 4 gpu.lock printenv FLOCK_PERMIT
#> 1

### permits-which-a-descriptor-keeps-it

# A second request must not have another number: the job that the script has begun with the first one still uses that.
exec 9<>f 8<>f
flock --permits 3 9; flock --permits 3 8
flock --permits 3 --fd 8 printenv FLOCK_PERMIT
#> 2
flock -u --permits 3 9
flock --permits 3 8
flock --permits 3 --fd 8 printenv FLOCK_PERMIT
#> 2
flock --permits 1 --fd 8 printenv FLOCK_PERMIT # which it must
#> 1
exec 8>&-
flock --permits 3 f printenv FLOCK_PERMIT
#> 1

### permits-which-two-descriptors-are-asked-again-and-again
exec 9<>f 8<>f 7<>f
for n in {1..5}; do
	for fd in 9 8 7; do flock --permits 3 --fd $fd sh -c 'echo -n "$0:$FLOCK_PERMIT "' $fd; done
	echo
done | sort -u
#> 9:1 8:2 7:3 

### permits-which-of-more-than-can-be-asked-for-one-by-one
# needs: timeout
exec 9<>f 8<>f 7<>f
for fd in 9 8 7 8 9 7; do timeout 20 flock -n --permits 2147483647 --fd $fd printenv FLOCK_PERMIT; done
#> 1
#> 2
#> 3
#> 2
#> 1
#> 3
exec 8>&-
timeout 20 flock -n --permits 2147483647 --fd 7 printenv FLOCK_PERMIT
#> 3

### permits-which-none-beside-a-lock-on-all
# needs: timeout ofd
# kernel: uses --fcntl
hold --fcntl f
timeout 20 flock -n --permits 2147483647 f true; echo $?
#> 1
exec 9<>f
timeout 20 flock -n --permits 2147483647 9; echo $?
#> 1
release

### permits-which-of-a-lock-around-it
# needs: own-path

# A lock without permits leaves the number of the one around it alone.
flock --permits 2 f sh -c 'flock --permits 2 f flock g printenv FLOCK_PERMIT'
#> 2
FLOCK_PERMIT=7 flock f printenv FLOCK_PERMIT
#> 7
FLOCK_PERMIT=7 flock -s --limit 100 f printenv FLOCK_PERMIT
#> 7
FLOCK_PERMIT=7 flock --permits 1 f printenv FLOCK_PERMIT
#> 1

### permits-which-a-child-keeps-it
flock --permits 2 f sh -c 'sleep 100 & echo $! >pid'
flock --permits 2 f printenv FLOCK_PERMIT
#> 2
kill -9 $(cat pid)
await '[ "$(flock --permits 2 f printenv FLOCK_PERMIT)" = 1 ]'

### permits-which-flock-killed

# The command has its number as long as it runs.
flock --permits 2 f sh -c ': >in; until [ -e go ]; do read _ <../wake.go || exit; done; echo $FLOCK_PERMIT >over' &
await '[ -e in ]'
kill -9 $!; wait $!
flock --permits 2 f printenv FLOCK_PERMIT
#> 2
announce go
await '[ -s over ]'
cat over
#> 1
await '[ "$(flock --permits 2 f printenv FLOCK_PERMIT)" = 1 ]'

### permits-which-killed-and-started-again

# Each job dies at once, and the next one takes its place.
flock --permits 3 f sh -c ': >in; until [ -e go ]; do read _ <../wake.go || exit; done' & first=$!
await '[ -e in ]'
for i in 1 2 3; do
	flock --permits 3 f sh -c 'echo $FLOCK_PERMIT; exec kill -9 $$' & flock=$!
	wait $flock
done 2>/dev/null
#> 2
#> 2
#> 2
flock --permits 3 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
flock --permits 3 f printenv FLOCK_PERMIT
#> 3
kill -9 $! $(cat pid); wait $!
await '[ "$(flock --permits 3 f printenv FLOCK_PERMIT)" = 2 ]'
announce go; wait $first

### permits-which-close-flock-killed

# With -o only flock has the number: it is given away beside the command.
flock -o --permits 2 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
flock --permits 2 f printenv FLOCK_PERMIT
#> 2
kill -9 $!; wait $!
await '[ "$(flock --permits 2 f printenv FLOCK_PERMIT)" = 1 ]'
kill -9 $(cat pid)

### permits-which-every-entry-of-the-name-goes
# needs: python3 own-path

# Some programs take the first entry of a name and some the last.
cat >twice.py <<'END'
import ctypes, sys
def words(*all): return (ctypes.c_char_p * (len(all) + 1))(*all, None)
names = [w.encode() for w in sys.argv[1:]]
ctypes.CDLL(None).execve(names[0], words(*names), words(b'FLOCK_PERMIT=8', b'PATH=/usr/bin:/bin', b'FLOCK_PERMIT=9'))
END
python3 twice.py "$(type -P flock)" --permits 3 f "$(type -P env)" | grep FLOCK_PERMIT
#> FLOCK_PERMIT=1
python3 twice.py "$(type -P flock)" --limit 100 --permits 3 f "$(type -P env)" | grep FLOCK_PERMIT
#> FLOCK_PERMIT=1
python3 twice.py "$(type -P flock)" f "$(type -P env)" | grep FLOCK_PERMIT
#> FLOCK_PERMIT=8
#> FLOCK_PERMIT=9
