What the command inherits from the caller of flock: descriptors, signals, limits, environment, directory.

### descriptors-of-the-command
# kernel: with the directory lock the command has one descriptor more, its lifeline
# needs: proc
descriptors() { flock $1 f sh -c 'exec ls /proc/self/fd' | tr '\n' ' '; echo; }
descriptors
descriptors -F
exec 5</dev/null 7</dev/null
descriptors
exec 200</dev/null
descriptors
#> 0 1 2 3 4 
#> 0 1 2 3 4 
#> 0 1 2 3 4 5 7 
#> 0 1 2 200 3 4 5 7 

### descriptors-of-the-command-close
# needs: proc
flock -o f sh -c 'exec ls /proc/self/fd' | tr '\n' ' '
#> 0 1 2 3 
#\ no newline at the end

### descriptors-of-flock-itself
# needs: proc
# kernel: flock has a descriptor for the lock only with a kernel lock
hold f
await '[ ! -e /proc/${holders[0]}/fd/4 ]' # by which it learns that the command is executed
ls /proc/${holders[0]}/fd | tr '\n' ' '
release
#> 0 1 2 3 
#\ no newline at the end

### lock-descriptor-in-the-command
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
flock f sh -c 'grep flags /proc/self/fdinfo/3; readlink /proc/self/fd/3 | sed "s,.*/,,"'
flock f sh -c 'sh -c "readlink /proc/self/fd/3; true" | sed "s,.*/,,"'
#> flags:	0100000
#> f
#> f

### lock-descriptor-keeps-the-lock
flock f sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done' &
await '! flock -n f true'
echo held
announce go
wait
#> held

### close-releases-with-flock-only
flock -o f sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done & exit 0'
flock -n f echo in; echo $?
announce go
#> in
#> 0

### close-holds-while-the-command-runs
flock -o f sh -c 'flock -n f echo in; echo $?'
#> 1

### close-in-other-forms
# needs: proc
flock -o f -c 'test -e /proc/self/fd/3; echo $?'
mkdir d
flock -o d sh -c 'test -e /proc/self/fd/3; echo $?; flock -n d true; echo $?'
exec 4</dev/null
flock -o f sh -c 'test -e /proc/self/fd/4; echo $?; test -e /proc/self/fd/3; echo $?'
#> 1
#> 1
#> 1
#> 0
#> 1

### stdin-nonblocking-stays
# needs: python3 proc
python3 -c "import os, subprocess
r, w = os.pipe()
os.set_blocking(r, False)
print(subprocess.call(['flock', 'f', 'grep', 'flags', '/proc/self/fdinfo/0'], stdin=r))
print(os.get_blocking(r))" | tr '\n' ' '
#> flags:	04000 0 False 
#\ no newline at the end

### stdin-blocking-stays
# needs: python3 proc
python3 -c "import os, subprocess
r, w = os.pipe()
print(subprocess.call(['flock', 'f', 'grep', 'flags', '/proc/self/fdinfo/0'], stdin=r))
print(os.get_blocking(r))" | tr '\n' ' '
#> flags:	00 0 True 
#\ no newline at the end

### stdin-nonblocking-and-lowest-number
# kernel: with the directory lock the command has one descriptor more, its lifeline
# needs: python3 proc
python3 -c "import os, subprocess
r, w = os.pipe()
os.set_blocking(r, False)
subprocess.call(['flock', 'f', 'ls', '/proc/self/fd'], stdin=r)" | tr '\n' ' '
#> 0 1 2 3 4 
#\ no newline at the end

### outputs-nonblocking-stay
# needs: python3 proc
python3 -c "import os, subprocess
r, w = os.pipe()
os.set_blocking(w, False)
subprocess.call(['flock', '--verbose', 'f', 'sh', '-c', 'grep flags /proc/self/fdinfo/1'], stdout=w)
print(os.get_blocking(w))
print('\n'.join(sorted(os.read(r, 1000).decode().splitlines())))"
#> False
#> flags:	04001
#> flock: executing sh
#> flock: getting lock took N seconds

### socket-descriptors-untouched
# needs: python3 proc
python3 -c "import os, socket, subprocess
a, b = socket.socketpair()
a.setblocking(False)
subprocess.call(['flock', 'f', 'grep', 'flags', '/proc/self/fdinfo/0'], stdin=a)
print(a.getblocking())"
#> flags:	04002
#> False

### numbered-descriptor-flags-untouched
# kernel: the directory lock marks the open file
# needs: python3
python3 -c "import fcntl, os, subprocess
f = os.open('f', os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK)
os.set_inheritable(f, True)
before = fcntl.fcntl(f, fcntl.F_GETFL)
print(subprocess.call(['flock', str(f)], close_fds=False))
print(fcntl.fcntl(f, fcntl.F_GETFL) == before)"
#> 0
#> True

### closed-standard-descriptors
flock f echo hi <&-; echo $?
flock f true >&-; echo $?
flock f true 2>&-; echo $?
flock f true <&- >&- 2>&-; echo $?
#> hi
#> 0
#> 0
#> 0
#> 0

### closed-stdin-of-the-command
# needs: proc
flock f readlink /proc/self/fd/0 <&- | sed 's,.*/,,'
#> f

### closed-stdout-and-a-writing-command
flock f sh -c 'echo out; echo err >&2' >&- 2>err; echo $?
grep -c err err
#> 0
#> 2

### closed-stdout-verbose
# starts: --help, --version and --verbose write to standard output
flock --verbose f true >&-; echo $?
#> 0

### closed-stdout-does-not-write-into-the-lock-file
# starts: the message is not in the output, or not all of it
flock --verbose f echo hi >&- 2>/dev/null
wc -c <f | tr -d ' '
#> 0

### closed-stderr-does-not-write-into-the-lock-file
# starts: the message is not in the output, or not all of it
flock f nothing-here 2>&-; echo $?
wc -c <f | tr -d ' '
#> 69
#> 0

### closed-all-holds
flock f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' <&- >&- 2>&- &
await '[ -e held ]'
flock -n f echo in; echo $?
announce go
wait $!; echo $?
#> 1
#> 0

### closed-all-but-conflict
hold f
flock -n f true <&- >&- 2>&-; echo $?
release
#> 1

### signals-ignored-arrive
# needs: proc
(trap '' TERM PIPE USR1 USR2 ALRM HUP QUIT WINCH TSTP; flock f grep SigIgn /proc/self/status)
#> SigIgn:	0000000008087a05

### signals-ignored-none
# needs: proc
flock f grep SigIgn /proc/self/status
#> SigIgn:	0000000000000000

### signals-ignored-pipe-only
# needs: proc sigenv
env --ignore-signal=PIPE flock f grep SigIgn /proc/self/status
#> SigIgn:	0000000000001000

### signals-ignored-each
# needs: proc sigenv
for s in HUP INT QUIT TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM STKFLT CONT TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS; do
	printf '%s ' $s
	env --ignore-signal=$s flock f grep SigIgn /proc/self/status
done
#> HUP SigIgn:	0000000000000001
#> INT SigIgn:	0000000000000002
#> QUIT SigIgn:	0000000000000004
#> TRAP SigIgn:	0000000000000010
#> ABRT SigIgn:	0000000000000020
#> BUS SigIgn:	0000000000000040
#> FPE SigIgn:	0000000000000080
#> USR1 SigIgn:	0000000000000200
#> SEGV SigIgn:	0000000000000000
#> USR2 SigIgn:	0000000000000800
#> PIPE SigIgn:	0000000000001000
#> ALRM SigIgn:	0000000000002000
#> TERM SigIgn:	0000000000004000
#> STKFLT SigIgn:	0000000000008000
#> CONT SigIgn:	0000000000020000
#> TSTP SigIgn:	0000000000080000
#> TTIN SigIgn:	0000000000100000
#> TTOU SigIgn:	0000000000200000
#> URG SigIgn:	0000000000400000
#> XCPU SigIgn:	0000000000800000
#> XFSZ SigIgn:	0000000001000000
#> VTALRM SigIgn:	0000000002000000
#> PROF SigIgn:	0000000004000000
#> WINCH SigIgn:	0000000008000000
#> IO SigIgn:	0000000010000000
#> PWR SigIgn:	0000000020000000
#> SYS SigIgn:	0000000040000000

### signals-ignored-real-time
# needs: proc
(trap '' RTMIN RTMIN+1 RTMIN+15 RTMAX; flock f grep SigIgn /proc/self/status)
#> SigIgn:	8001000600000000

### signals-ignored-in-other-forms
# needs: proc
trap '' TERM PIPE USR1 INT RTMAX
for words in '-F f' '-o f'; do flock $words grep SigIgn /proc/self/status; done
flock f -c 'grep SigIgn /proc/self/status'
#> SigIgn:	8000000000005202
#> SigIgn:	8000000000005202
#> SigIgn:	8000000000005202

### signals-ignored-after-waiting
# needs: proc
hold f
(trap '' TERM PIPE USR1; flock -w 20 f grep SigIgn /proc/self/status) &
await asleep
release
wait $!
#> SigIgn:	0000000000005200

### signals-ignored-chld
# needs: proc
(trap '' CHLD; flock f grep SigIgn /proc/self/status; echo $?)
#> SigIgn:	0000000000000000
#> 0

### signals-ignored-chld-status
# needs: sigenv
env --ignore-signal=CHLD flock f sh -c 'exit 3'; echo $?
#> 3

### signals-of-a-background-job
# needs: proc
flock f grep SigIgn /proc/self/status &
wait $!
#> SigIgn:	0000000000000006

### signals-under-nohup
# needs: proc
nohup flock f grep SigIgn /proc/self/status 2>/dev/null
#> SigIgn:	0000000000000001

### signals-caught-by-flock
# kernel: with the directory lock flock notes the signals that end it, to release the lock first
# needs: proc
hold f
grep SigCgt /proc/${holders[0]}/status
release
#> SigCgt:	0000000000000000

### signals-caught-none-in-the-command
# needs: proc
flock f grep SigCgt /proc/self/status
#> SigCgt:	0000000000000400

### signals-caught-none-in-the-command-after-w
# needs: proc
flock -w 5 f grep -e SigCgt -e SigIgn -e SigBlk /proc/self/status
#> SigBlk:	0000000000000000
#> SigIgn:	0000000000000000
#> SigCgt:	0000000000000400

### signals-blocked-none
# needs: proc
flock f grep SigBlk /proc/self/status
#> SigBlk:	0000000000000000

### signals-blocked-arrive
# needs: proc sigenv
env --block-signal=USR1 --block-signal=TERM --block-signal=RTMAX flock f grep SigBlk /proc/self/status
#> SigBlk:	8000000000004200

### signals-blocked-no-fork
# needs: proc sigenv
env --block-signal=USR1 --block-signal=INT flock -F f grep SigBlk /proc/self/status
#> SigBlk:	0000000000000202

### signals-blocked-and-ignored
# needs: proc python3
python3 -c "import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP, signal.SIGCHLD, 40])
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execvp('flock', ['flock', 'f', 'grep', '-e', 'SigBlk', '-e', 'SigIgn', '/proc/self/status'])"
#> SigBlk:	0000008000010001
#> SigIgn:	0000000001000800

### signals-blocked-chld-still-ends
# needs: sigenv
env --block-signal=CHLD flock f sh -c 'exit 3'; echo $?
#> 3

### signals-blocked-alrm-and-w
# needs: sigenv
env --block-signal=ALRM flock -w 5 f echo in; echo $?
#> in
#> 0

### signals-pending-stay-blocked
# needs: proc python3
python3 -c "import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.kill(os.getpid(), signal.SIGUSR1)
os.execvp('flock', ['flock', '-F', 'f', 'grep', '-e', 'SigBlk', '-e', 'ShdPnd', '/proc/self/status'])"
#> ShdPnd:	0000000000000200
#> SigBlk:	0000000000000200

### umask-arrives
umask 027; flock f sh -c umask
#> 0027

### working-directory-arrives
mkdir d; cd d
flock ../f pwd
#> $DIR/d

### working-directory-by-symlink
mkdir d; ln -s d l; cd l
flock f sh -c 'pwd; pwd -P'
#> $DIR/l
#> $DIR/d

### limits-open-files
# needs: rlimits
ulimit -Sn 100
flock f sh -c 'ulimit -Sn'
ulimit -Hn 512
flock f sh -c 'ulimit -Sn; ulimit -Hn'
flock -F f sh -c 'ulimit -Sn; ulimit -Hn'
flock f -c 'ulimit -Sn; ulimit -Hn'
#> 100
#> 100
#> 512
#> 100
#> 512
#> 100
#> 512

### limits-all
# needs: proc
cat /proc/self/limits >before
flock f cat /proc/self/limits | diff before - && echo same
#> same

### limits-lowered-all
# needs: proc
ulimit -c 0; ulimit -t 1000; ulimit -f 10000; ulimit -Sn 200; ulimit -s 4096
cat /proc/self/limits >before
flock f cat /proc/self/limits | diff before - && echo same
#> same

### nice-arrives
# needs: nice
[ "$(nice -n 5 flock f nice)" = "$(nice -n 5 nice)" ]; echo $?
#> 0

### environment-arrives
export ODD='a=b
c' EMPTY= x1=2
env | grep -v ^_= | sort >before
flock f env | grep -v ^_= | sort | diff before - && echo same
#> same

### environment-nothing-added
env -i A=1 "$(command -v flock)" f /usr/bin/env
env -i "$(command -v flock)" f /usr/bin/env; echo $?
#> A=1
#> 0

### verbose-adds-nothing-to-the-environment
# starts: --help, --version and --verbose write to standard output
# needs: proc
env -i A=1 GOMAXPROCS=7 "$(command -v flock)" --verbose f /bin/cp /proc/self/environ out >/dev/null; echo $?; tr '\0' '\n' <out
env -i "$(command -v flock)" --verbose f /bin/cp /proc/self/environ none >/dev/null; echo $?; tr '\0' '\n' <none
#> 0
#> A=1
#> GOMAXPROCS=7
#> 0

### environment-byte-for-byte
# needs: python3 proc
python3 - <<'END'
import ctypes, os, sys
lock = next(p for p in (d + '/flock' for d in os.environ['PATH'].split(':')) if os.path.exists(p))
entries = [b'B=2', b'A=1', b'A=again', b'=odd', b'noequals', b'\xff=\xfe', b'E=', b'B=2']
argv = [lock.encode(), b'f', b'/bin/cat', b'/proc/self/environ']
def vector(items):
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)
sys.stdout.flush()
out = os.open('out', os.O_WRONLY | os.O_CREAT)
os.dup2(out, 1)
ctypes.CDLL(None).execve(argv[0], vector(argv), vector(entries))
END
tr '\0' '\n' <out | od -An -c
#>    B   =   2  \n   A   =   1  \n   A   =   a   g   a   i   n  \n
#>    =   o   d   d  \n   n   o   e   q   u   a   l   s  \n 377   =
#>  376  \n   E   =  \n   B   =   2  \n

### environment-of-c-keeps-shell
SHELL=/bin/sh flock f -c 'echo "$SHELL"'
#> /bin/sh

### environment-underscore-is-not-set-by-flock
# needs: proc
flock f grep -z '^_=' /proc/self/environ | tr '\0' '\n'
#> _=$BIN/flock

### process-group-kept
# needs: proc
flock f sh -c 'cut -d" " -f5 /proc/$$/stat' >group
[ "$(cat group)" = "$(cut -d' ' -f5 /proc/$$/stat)" ]; echo $?
#> 0

### session-kept
# needs: proc
flock f sh -c 'cut -d" " -f6 /proc/$$/stat' >session
[ "$(cat session)" = "$(cut -d' ' -f6 /proc/$$/stat)" ]; echo $?
#> 0

### parent-of-the-command-is-flock
# needs: proc
flock f sh -c 'cat /proc/$PPID/comm; tr "\0" " " </proc/$PPID/cmdline' | head -1
#> flock

### user-and-groups-kept
# needs: root setpriv
chmod 777 .
setpriv --reuid 1234 --regid 2345 --groups 5,6 flock f id -u
setpriv --reuid 1234 --regid 2345 --groups 5,6 flock f id -g
setpriv --reuid 1234 --regid 2345 --groups 5,6 flock f id -G
#> 1234
#> 2345
#> 2345 5 6

### controlling-terminal-none-needed
# needs: setsid
setsid flock f echo hi </dev/null; echo $?
#> hi
#> 0

### no-new-privileges-kept
# needs: setpriv proc
setpriv --no-new-privs flock f grep NoNewPrivs /proc/self/status
#> NoNewPrivs:	1

### dumpable-and-death-signal-untouched
# needs: setpriv
setpriv --pdeathsig KILL flock -F f setpriv --dump | grep -i 'parent death'
#> Parent death signal: KILL

### cpu-affinity-kept
# needs: taskset
taskset -c 0 flock f sh -c 'taskset -cp $$' | sed 's/.*: //'
#> 0

### timer-slack-kept
# needs: proc
cat /proc/self/timerslack_ns
flock f cat /proc/self/timerslack_ns
sh -c '{ echo 70000 >/proc/$$/timerslack_ns; } 2>/dev/null; exec flock f cat /proc/self/timerslack_ns'
sh -c '{ echo 70000 >/proc/$$/timerslack_ns; } 2>/dev/null; exec flock -F f cat /proc/self/timerslack_ns'
#> 50000
#> 50000
#> 70000
#> 70000

### oom-score-kept
# needs: proc
echo 123 >/proc/self/oom_score_adj
flock f cat /proc/self/oom_score_adj
#> 123

### signals-ignored-chld-no-fork
# needs: proc
trap '' CHLD
flock -F f grep SigIgn /proc/self/status
#> SigIgn:	0000000000000000

### closed-stdin-and-o
# needs: proc
flock -o f sh -c '[ -e /proc/$$/fd/0 ] || echo closed' <&-
#> closed

### closed-all-and-another-descriptor
# needs: proc
exec 4</dev/zero
flock f sh -c 'readlink /proc/$$/fd/4 >out' <&- >&- 2>&-
cat out
#> /dev/zero

### signals-ignored-alrm-and-w
# needs: proc
trap '' ALRM
for o in '-w 1' '-n -w 1' '-F -w 1' '-F -n -w 1' '-s -w 1' '-u -w 1'; do
	flock $o f grep SigIgn /proc/self/status
done
#> SigIgn:	0000000000000000
#> SigIgn:	0000000000000000
#> SigIgn:	0000000000000000
#> SigIgn:	0000000000000000
#> SigIgn:	0000000000000000
#> SigIgn:	0000000000000000

### signals-ignored-alrm-without-w
# starts: numbers with blanks and signs, and exponents
# needs: proc
trap '' ALRM
for o in -x -n -F -w0 '-w .0000001'; do
	flock $o f grep SigIgn /proc/self/status
done
#> SigIgn:	0000000000002000
#> SigIgn:	0000000000002000
#> SigIgn:	0000000000002000
#> SigIgn:	0000000000002000
#> SigIgn:	0000000000002000

### standard-descriptors-of-another-user
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# starts: more privileges than the caller
# needs: root setpriv proc
cat >show <<-'END'
	for n in 0 1 2 3; do
		echo $n $(readlink /proc/$$/fd/$n) $(grep flags /proc/$$/fdinfo/$n | tail -c 2) >>out
	done
END
unset FLOCK_BACKEND
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	eval setpriv --ruid 65534 --clear-groups flock f bash -p show $closed
	grep -e full -e null -e "$PWD/f" out | sed "s:$PWD/::"
	rm out
done
#> 0 /dev/full 1
#> 3 f 0
#> 0 /dev/null 0
#> 1 /dev/null 0
#> 3 f 0
#> 0 /dev/null 0
#> 2 /dev/null 0
#> 3 f 0
#> 0 /dev/full 1
#> 1 /dev/null 0
#> 2 /dev/null 0
#> 3 f 0

### environment-of-another-users-program
# kernel: FLOCK_BACKEND is refused then
# starts: more privileges than the caller
# needs: root setpriv
unset FLOCK_BACKEND
chmod 777 .
names='LD_LIBRARY_PATH TMPDIR LOCPATH NLSPATH GCONV_PATH GETCONF_DIR HOSTALIASES LOCALDOMAIN MALLOC_CHECK_ MALLOC_TRACE
	NIS_PATH RESOLV_HOST_CONF RES_OPTIONS TZDIR TZ LDA A'
for n in $names; do export $n=/none; done
setpriv --ruid 65534 --clear-groups flock f env | grep =/none
#> LDA=/none
#> TZ=/none
#> A=/none

### environment-of-another-user
# kernel: FLOCK_BACKEND is refused then
# starts: more privileges than the caller
# needs: root setpriv
unset FLOCK_BACKEND
chmod 777 .
setpriv --ruid 65534 --clear-groups flock f env | grep -c GOTRACEBACK
GOTRACEBACK=all setpriv --ruid 65534 --clear-groups flock f env | grep GOTRACEBACK
#> 0
#> GOTRACEBACK=all
