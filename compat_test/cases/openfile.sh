A lock belongs to an open file: whoever has that keeps the lock, and nobody else. Each script runs in four shells; the second
argument of each_shell is what others see then.

# needs: bash dash zsh busybox

### child-locks-through-timeout
# needs: timeout
each_shell 'exec 9>lock; ( timeout 20 flock 9 || exit; work ) & exit' busy_until_go
#> 1
#> over

### child-locks-through-a-substitution
each_shell 'exec 9>lock; ( x=$(flock -n 9 || echo no); echo "x: $x"; work ) & exit' busy_until_go
#> x: 
#> 1
#> over

### child-locks-through-a-wrapper
cat >wrapper <<'END'
#!/bin/sh
flock "$@"
END
chmod +x wrapper
each_shell 'exec 9>lock; ( ../wrapper 9 || exit; work ) & exit' busy_until_go
#> 1
#> over

### child-locks-under-nohup
# needs: timeout nohup
each_shell 'exec 9>lock; nohup sh -c "timeout 20 flock 9; . ../work" >/dev/null 2>&1 & exit' busy_until_go
#> 1
#> over

### child-locks-around-a-command
# since: 2.43
# derived: with --fd the descriptor is locked as in the form with a number alone
each_shell 'exec 9>lock; ( flock --fd 9 true; work ) & exit' busy_until_go
# script: aadb66f5242d
#> 1
#> over

### child-locks-once-more
each_shell 'exec 9>lock; flock 9; ( flock 9; work ) & exit' busy_until_go
#> 1
#> over

### child-locks-once-more-without-its-parent
each_shell 'exec 9>lock; flock 9; ( while kill -0 $$ 2>/dev/null; do sleep .01; done; flock -n 9 && work ) & exit' busy_until_go
#> 1
#> over

### child-upgrades
each_shell 'exec 9>lock; flock -s 9; ( flock -x 9; work ) & exit' busy_until_go
#> 1
#> over

### two-children-upgrade

# Their parents, who had the shared locks, have ended.
cat >upgrade <<'END'
exec 9>lock; flock -s 9
( while kill -0 $$ 2>/dev/null; do sleep .01; done
: >ready$1; until [ -e ready1 ] && [ -e ready2 ]; do sleep .01; done
flock -w 20 9; echo $?; echo >>in ) &
END
each_shell : '
for i in 1 2; do $name ../upgrade $i; done
await "[ \$(cat in 2>/dev/null | wc -l) = 2 ]"; flock -w 20 lock echo in'
#> 0
#> 0
#> in

### child-downgrades
each_shell 'exec 9>lock; flock 9; ( flock -s 9; work ) & exit' '
await "[ -e has ]"; flock -s -n lock echo a reader
busy_until_go'
#> a reader
#> 1
#> over

### child-unlocks
each_shell 'exec 9>lock; flock 9; ( flock -u 9 ); flock -n lock echo in; echo $?'
#> in
#> 0

### child-unlocks-what-another-child-has-locked
each_shell 'exec 9>lock; ( flock 9 ); flock -n lock echo in; echo $?; ( flock -u 9 ); flock -n lock echo in'
#> 1
#> in

### another-file-under-the-number
each_shell 'exec 9>lock; flock 9; { flock -n 9; echo $?; } 9>lock; flock -n lock echo in; echo $?'
#> 1
#> 1

### another-file-under-the-number-recursively
each_shell 'f() { flock -n 9 || { echo "level $1: no"; return; }; echo "level $1"; [ "$1" = 3 ] || f $(($1 + 1)) 9>lock; }
f 1 9>lock; flock -n lock echo in'
#> level 1
#> level 2: no
#> in

### another-file-under-the-number-unlocked
each_shell 'exec 9>lock; flock 9; { flock -u 9; } 9>lock; flock -n lock echo in; echo $?; flock -u 9; flock -n lock echo in'
#> 1
#> in

### another-file-under-the-number-locked-meanwhile
each_shell 'exec 9>lock; flock 9; { flock -n 9; echo $?; flock 9; echo $?; } 9>other; flock -n lock echo in; flock -n other echo in'
#> 0
#> 0
#> in

### number-moved
each_shell 'exec 8>lock; flock 8; exec 9>&8 8>&-; flock -n lock echo in; echo $?; flock -u 9; flock -n lock echo in'
#> 1
#> in

### number-closed-and-opened-again
each_shell 'exec 9>lock; flock 9; exec 9>&-; exec 9>lock; flock -n lock echo in; exec 9>&-; exec 8>lock; flock -n lock echo in'
#> in
#> in

### number-closed-but-not-the-copy
each_shell 'exec 9>lock; flock 9; exec 8>&9 9>&-; flock -n lock echo in; echo $?; exec 8>&-; flock -n lock echo in'
#> 1
#> in

### one-of-two-closed-but-not-in-a-child
each_shell 'exec 8>lock 9>lock; flock -sn 8; flock -sn 9; ( exec 9>&-; work ) & while [ ! -e has ]; do sleep .01; done; exec 8>&-; flock -xn 9; echo $?; announce go; wait; flock -xn 9; echo $?'
#> 1
#> 0

### background-child-keeps-it
each_shell 'exec 9>lock; flock 9; ( work ) & exit' busy_until_go
#> 1
#> over

### background-child-of-a-command-keeps-it
each_shell 'flock lock sh -c ". ../work &"; exit' busy_until_go
#> 1
#> over

### background-child-of-a-command-with-o
each_shell 'flock -o lock sh -c ". ../work &"; exit' '
flock -n lock echo in
announce go; await "[ -e over ]"'
#> in

### background-child-of-a-child
each_shell 'exec 9>lock; flock 9; ( ( ( ( work ) & ) & ) & ) & exit' busy_until_go
#> 1
#> over

### background-child-of-no-fork
each_shell 'flock -F lock sh -c ". ../work & exit"; exit' busy_until_go
#> 1
#> over

### background-child-has-another-number
each_shell 'exec 9>lock; flock 9; ( exec 7>&9 9>&-; work ) & exit' busy_until_go
#> 1
#> over

### daemon-after-exec
# needs: python3 setsid
cat >daemon.py <<'END'
import os, time
if os.fork() == 0:
	os.setsid()
	if os.fork() == 0:
		open("has", "w")
		while not os.path.exists("go"): time.sleep(.01)
		open("over", "w")
	os._exit(0)
END
each_shell 'exec 9>lock; flock -w 20 9; exec python3 ../daemon.py' busy_until_go
#> 1
#> over

### worker-of-a-server
# needs: python3 timeout
cat >server.py <<'END'
import os, subprocess, time
f = os.open("lock", os.O_RDWR | os.O_CREAT)
os.set_inheritable(f, True)
if os.fork() == 0:
	subprocess.check_call(["timeout", "20", "flock", str(f)], close_fds=False)
	open("has", "w")
	while not os.path.exists("go"): time.sleep(.01)
	open("over", "w")
	os._exit(0)
os.close(f)
END
mkdir d; cd d
python3 ../server.py
busy_until_go
#> 1
#> over

### passed-over-a-socket
# needs: python3

# The receiver is started before the descriptor is passed, and the sender ends.
cat >pass.py <<'END'
import array, os, socket, subprocess, time
a, b = socket.socketpair()
if os.fork() == 0:
	a.close()
	_, ancillary, _, _ = b.recvmsg(1, socket.CMSG_SPACE(4))
	open("has", "w")
	while not os.path.exists("go"): time.sleep(.01)
	open("over", "w")
	os._exit(0)
f = os.open("lock", os.O_RDWR | os.O_CREAT)
os.set_inheritable(f, True)
subprocess.check_call(["flock", str(f)], close_fds=False)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))])
END
mkdir d; cd d
python3 ../pass.py
busy_until_go
#> 1
#> over

### passed-over-a-socket-to-a-later-process
# needs: python3
cat >receive.py <<'END'
import os, socket, time
s = socket.socket(socket.AF_UNIX)
while True:
	try: s.connect("socket"); break
	except OSError: time.sleep(.01)
_, ancillary, _, _ = s.recvmsg(1, socket.CMSG_SPACE(4))
open("has", "w")
while not os.path.exists("go"): time.sleep(.01)
open("over", "w")
END
cat >send.py <<'END'
import array, os, socket, subprocess
f = os.open("lock", os.O_RDWR | os.O_CREAT)
os.set_inheritable(f, True)
subprocess.check_call(["flock", str(f)], close_fds=False)
s = socket.socket(socket.AF_UNIX); s.bind("socket"); s.listen()
subprocess.Popen(["python3", "../receive.py"])
c, _ = s.accept()
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))])
END
mkdir d; cd d
python3 ../send.py
busy_until_go
#> 1
#> over

### caller-has-ended
each_shell 'exec 9>lock; ( flock 9 & ); until [ -e seen ]; do sleep .01; done' '
flock -w 20 lock echo in' 'await "! flock -n lock true"; echo held; : >seen'
#> held
#> in

### caller-has-ended-of-another-user
# needs: root setpriv
chmod 777 .; umask 0
cat >script <<'END'
mkdir d; cd d
exec 9>lock; ( flock 9 & ); : >has; until [ -e seen ]; do sleep .01; done
END
setpriv --reuid 65534 --clear-groups sh script & script=$!
await '[ -e d/has ]'; cd d
await '! flock -n lock true'; echo held
: >seen; wait $script
flock -w 20 lock echo in
#> held
#> in

### killed-between-lock-and-unlock
each_shell 'exec 9>lock; : >has; while :; do flock 9; flock -u 9; done' '
flock -w 20 lock echo in' 'await "[ -e has ]"; sleep .0$((RANDOM % 10)); kill -9 $shell'
#> in

### two-shells-take-turns
each_shell 'n=0
for i in 1 2 3; do ( exec 9>lock; for j in 1 2 3 4 5; do flock 9; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n; flock -u 9; done ) & done
wait; cat n'
#> 15

### subshell-section-without-unlock
each_shell 'for i in 1 2 3 4 5 6; do ( flock 9; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n ) 9>lock & done
wait; cat n'
#> 6
