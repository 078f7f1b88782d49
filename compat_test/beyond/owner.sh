Who owns a directory lock: the processes that have the open file, under any descriptor number.

# directory: only

### owner-has-another-number
# needs: linux
exec 8>f
flock 9 9>&8; flock -n f echo in; echo $?
#> 1
flock -u 9 9>&8; flock -n f echo in; echo $?
#> in
#> 0
flock 0 <&8; flock -n f echo in; echo $?
#> 1
# a subshell that passes, under a number of its own
flock -u 8; (flock 7) 7>&8; flock -n f echo in; echo $?
#> 1
flock -u 8; flock -n f echo in; echo $?
#> in
#> 0

### owner-has-another-number-and-another-opening
# needs: linux
exec 7>f 8>f
flock 9 9>&8
flock -n 7; echo $?
#> 1
flock -n 8; echo $?
#> 0
flock -u 7; flock -n f echo in; echo $?
#> 1
flock -u 8; flock -n f echo in; echo $?
#> in
#> 0

### owner-python
# needs: linux python3
cat >hold.py <<'END'
import subprocess
with open("f", "w") as f:
	print(subprocess.call(["flock", "-n", "0"], stdin=f))
	print(subprocess.call(["flock", "-n", "f", "echo", "in"]))
print(subprocess.call(["flock", "-n", "f", "true"]))
END
python3 -u hold.py
#> 0
#> 1
#> 0

### owner-perl
# needs: linux perl
perl -e '$| = 1; $^F = 100; open(F, ">f"); my $n = fileno(F);
print system("flock -n 9 9>&$n"), "\n", system("flock -n f echo in") >> 8, "\n";
close(F); print system("flock -n f true"), "\n"'
#> 0
#> 1
#> 0

### owner-node
# needs: linux node
cat >hold.js <<'END'
const {spawnSync} = require("child_process"), fs = require("fs");
const run = (words, files) => fs.writeSync(1, spawnSync("flock", words, {stdio: files}).status + "\n");
const f = fs.openSync("f", "w");
run(["-n", "4"], ["ignore", 1, 2, "ignore", f]);
run(["-n", "f", "true"], "inherit");
fs.closeSync(f);
run(["-n", "f", "true"], "inherit");
END
node hold.js
#> 0
#> 1
#> 0

### owner-moves-it-while-a-function-runs
# needs: linux
sh -c 'exec 9>f; flock 9; f() { : >has; until [ -e go ]; do read _ <../wake.go || exit; done; }; f 9>&-; flock -n f echo in' & script=$!
await '[ -e has ]'
for try in 1 2 3 4 5; do flock -n f echo in; done
announce go; wait $script; echo $?
#> 1

### owner-closed-it-and-works-on
# needs: linux
sh -c 'exec 9>f; flock 9; exec 9>&-; : >has; while :; do :; done' & script=$!
await '[ -e has ]'
flock -n f echo in
#> in
kill -9 $script

### owner-closed-it-and-sleeps
# needs: linux
sh -c 'exec 9>f; flock 9; exec 9>&-; : >has; exec sleep 100' & script=$!
await '[ -e has ]'
flock -n f echo in
#> in
kill -9 $script

### owner-asks-again-by-another-opening
# needs: linux timeout
timeout 20 sh -c 'exec 8>f; flock 8; exec 9>f; exec 8>&-; flock 9 && echo again; flock -n f echo in; echo $?
exec 8>f; flock -n 8; echo $?; flock -u 9; flock -n 8; echo $?'
#> again
#> 1
#> 1
#> 0

### owner-has-it-still-when-asked-by-another-opening
# needs: linux
exec 8>f; flock 8; exec 9>f
flock -n 9; echo $?
#> 1
f() { flock -n 9; }
for try in 1 2 3 4 5; do f 8>&-; echo $?; done | uniq
#> 1

### owner-is-a-zombie
# needs: setpriv proc

# It has no descriptors any more, but only root may see that.
chmod 777 .
user=; [ $(id -u) = 0 ] && user='setpriv --reuid 65534 --clear-groups'
$user sh -c 'sh -c "exec 9>f; flock 9; echo \$\$ >owner" & exec sleep 100' & parent=$!
await '[ -s owner ] && grep -q ^State:.Z /proc/$(cat owner)/status'
$user sh -c 'exec 9>f; flock -n 9; echo $?'
#> 0
kill $parent; wait

### owner-whose-first-thread-has-ended
# needs: setpriv proc python3

# It looks like a zombie, but the other threads have its descriptors.
chmod 777 .
user=; [ $(id -u) = 0 ] && user='setpriv --reuid 65534 --clear-groups'
$user python3 -c 'import ctypes, os, subprocess, threading
f = open("f", "w")
subprocess.check_call(["flock", str(f.fileno())], pass_fds=[f.fileno()])
threading.Thread(target=threading.Event().wait).start()
open("owner", "w").write("%d\n" % os.getpid())
ctypes.CDLL(None).pthread_exit(None)' & owner=$!
await '[ -s owner ] && grep -q ^State:.Z /proc/$(cat owner)/status'
$user sh -c 'exec 9>f; flock -n 9; echo $?'
#> 1
kill $owner; wait

### owner-has-threads
# needs: linux python3
cat >threads.py <<'END'
import subprocess, threading
inside, done = threading.Lock(), []
files = [open("f", "w") for _ in range(4)]
def work(f):
	subprocess.check_call(["flock", str(f.fileno())], pass_fds=[f.fileno()])
	if not inside.acquire(blocking=False):
		print("two inside")
	threading.Event().wait(.02)
	done.append(f)
	inside.release()
	f.close()
threads = [threading.Thread(target=work, args=[f], daemon=True) for f in files]
for t in threads: t.start()
for t in threads: t.join(20)
print(len(done))
END
python3 threads.py
#> 4

### owner-outside-of-the-pid-namespace
# needs: linux root pidns
exec 9>f
unshare -pf --mount-proc flock 9; echo $?
#> flock: 9: cannot lock: state directory $DIR/.f.flock: the calling process is in another pid namespace
#> 65
unshare -pf --mount-proc flock --fd 9 echo in; echo $?
#> flock: 9: cannot lock: state directory $DIR/.f.flock: the calling process is in another pid namespace
#> 65
unshare -pf --mount-proc flock f echo in
#> in
unshare -pf --mount-proc sh -c 'flock 9 && flock -u 9; echo $?'
#> 0
flock -n f echo in
#> in

### owner-first-of-its-pid-namespace
# needs: linux root pidns
unshare -pf --mount-proc sh -c 'exec 9>f; (flock 9; :); flock -n f echo in; echo $?'
#> 1

### owner-with-the-same-number-in-another-pid-namespace
# needs: linux root pidns
unshare -pf --mount-proc flock --cooldown .01 f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
until [ $(stat -c %Y f) -lt $(date +%s) ]; do sleep .1; done
before=$(stat -c %.Y f)
unshare -pf --mount-proc flock -n --cooldown 30 f echo in; echo $?
#> 1
[ "$before" = "$(stat -c %.Y f)" ] && echo as it was
#> as it was
announce go; wait $holder

### owner-without-kcmp
# needs: linux nokcmp
exec 8>f
without_kcmp flock 9 9>&8; flock -n f echo in; without_kcmp flock -n f echo in; echo $?
#> 1
without_kcmp flock -n 9 9>&8; echo $?
#> 0
without_kcmp flock -u 9 9>&8; without_kcmp flock -n f echo in
#> in

### owner-without-kcmp-asks-by-another-opening
# needs: linux nokcmp
exec 8>f 9>f
without_kcmp flock 8; without_kcmp flock -n 9; echo $?
#> 1

### owner-becomes-flock
# needs: linux
for how in '-n' '-n -F' '-n -o' '-w 20'; do
	sh -c "exec 9>f; flock 9; exec 9>&-; exec flock $how f echo in"; echo $?
done
#> in
#> 0
#> in
#> 0
#> in
#> 0
#> in
#> 0
sh -c "exec 9>f; flock 9; exec flock -n f echo in"; echo $?
#> 1

### owner-upgrades-beside-a-busy-token
# directory: only

# The upgrade meets a process that is stopped while it takes the lock, and so cannot give up the shared lock for which those who
# came before it wait.
flock -F other sh -c ': >has; exec sleep 100' & stopped=$!
await '[ -e has ]'
exec 9>f; flock -s 9
for i in 1 2 3; do flock f sh -c 'echo in >>out' 9>&- & done
await '[ $(ls .f.flock | grep -c ^wait,) = 3 ]'
record=$(ls .other.flock | grep ^excl,)
mv .f.flock/free .f.flock/busy,${record#*,}
mv .other.flock/$record .f.flock/new,${record#*,}
(flock 9 2>err; : >upgraded) & upgrade=$!
await '[ -s err ]'
mv .f.flock/busy,* .f.flock/free
await '[ -e upgraded ]'
wait $upgrade
exec 9>&-; kill $stopped; wait; cat out
#> in
#> in
#> in

### owner-a-dead-reader-does-not-take-the-permit-of-another
# needs: linux
for round in 1 2 3 4 5 6 7 8; do
	flock -s f sh -c 'echo $$ >reader; exec sleep 100' & reader=$!
	flock --permits 1 f sh -c 'echo $$ >holder; exec sleep 100' & holder=$!
	await '[ -s reader ] && [ -s holder ]'
	kill -9 $reader $(cat reader) $holder; wait $reader $holder
	for n in 1 2 3 4; do flock -s f true; done
	flock -n --permits 1 f echo in
	kill -9 $(cat holder); rm reader holder
done 2>/dev/null
flock -w 60 f echo free
#> free

### owner-a-permit-that-is-over-does-not-take-the-lock-of-a-reader
# needs: linux
bash -c "exec 3>f; flock -s 3; (echo \$BASHPID >pid; exec sleep 100) & until [ -e go ]; do read _ <../wake.go || exit; done" & reader=$!
await '[ -s pid ]'
flock --permits 2 -F f true
announce go; wait $reader
for wait in 0 .3 0; do flock -w $wait f true; echo $?; done
#> 1
#> 1
#> 1
kill $(cat pid)
flock -w 60 f echo free
#> free

### owner-a-shared-lock-under-the-number-of-a-permit
# needs: linux
exec 5>>f; flock --permits 1 5
{ flock -s 5; } 5>>f
for n in 1 2; do flock -n --permits 1 f true; echo $?; done
#> 1
#> 1
exec 5>&-
flock -w 60 f echo free
#> free

# The process that took the permit has ended.
exec 5>>f; (flock --permits 1 5)
{ flock -s 5; } 5>>f
for n in 1 2; do flock -n --permits 1 f true; echo $?; done
#> 1
#> 1
exec 5>&-
flock -w 60 f echo free
#> free

# The shell has the file of a shared lock that flock opened.
flock -s -F f bash -c 'exec 5>>f; (exec 6>&5 5>&-; flock --permits 1 6; :); exec 8>&3 3>&5 5>&- 8>&-
	for n in 1 2; do flock -n --permits 1 f true; echo $?; done'
#> 1
#> 1
flock -w 60 f echo free
#> free

# The number of the permit goes to the shared lock, and is closed.
exec 9>>f 8>>f; flock --permits 1 9; flock -s 8
exec 7>&9 9>&8 8>&-
flock -n --permits 2 f true
exec 9>&-
for n in 1 2; do flock -n --permits 1 f true; echo $?; done
#> 1
#> 1

### owner-an-unlock-does-not-free-the-permit-of-another
# needs: linux

# Both have moved: the shells that locked have ended, and their children have the open files.
child() {
	bash -c 'exec 9>f; flock '"$1"' 9; (until [ -e go-'$2' ]; do sleep .02 9>&-; done; '"$3"') & : >in-'$2'; await_quit' &
	parents="$parents $!"; await '[ -e in-'$2' ]'
}
await_quit() { until [ -e quit ]; do sleep .02 9>&-; done; }; export -f await_quit
child -s reader 'flock -u 9; : >unlocked; until [ -e go-holder ]; do sleep .02 9>&-; done'
child '--permits 1' holder :
: >quit; wait $parents
announce go-reader; await '[ -e unlocked ]'
flock -n --permits 1 f true; echo $?
#> 1
announce go-holder
flock -w 20 f echo free
#> free

### owner-an-upgrade-does-not-take-the-permit-of-another
# needs: linux
child() {
	bash -c 'exec 9>f; flock '"$1"' 9; (until [ -e go-'$2' ]; do sleep .02 9>&-; done; '"$3"') & : >in-'$2'; await_quit' &
	parents="$parents $!"; await '[ -e in-'$2' ]'
}
await_quit() { until [ -e quit ]; do sleep .02 9>&-; done; }; export -f await_quit
child -s reader 'flock -n --permits 1 9; echo $? >refused; until [ -e go-holder ]; do sleep .02 9>&-; done'
child '--permits 1' holder :
: >quit; wait $parents
announce go-reader; await '[ -s refused ]'; cat refused
#> 1
flock -n --permits 1 f true; echo $?
#> 1
announce go-holder
flock -w 20 f echo free
#> free

### owner-a-flock-that-has-the-lock-itself-is-refused
# needs: linux
exec 9>f; flock 9
(await '[ -e closed ]'; exec flock -n f echo in) & other=$!
exec 9>&-; : >closed
wait $other; echo $?
#> 1
flock -w 60 f echo free
#> free

### owner-opens-the-file-again-under-the-number
for n in 1 2 3 4; do hold -s f; done
exec 9>f; flock -s 9
(await '[ -e end ]') & helper=$!
exec 9>f; flock -s 9; flock -u 9
release
flock -n f echo in; echo $?
#> 1
: >end; wait $helper
flock -n f echo in
#> in

### owner-has-one-open-file-under-two-numbers
exec 8>f; flock -s 8
(await '[ -e end ]') & helper=$!
exec 9>f; flock -s 9
exec 8>&9
flock -n 8; echo $?
#> 1
flock -n f echo in; echo $?
#> 1
: >end; wait $helper
flock -n f echo in
#> in

### owner-in-another-pid-namespace
# needs: linux root pidns
unshare -pf --mount-proc bash -c 'exec 9>f; flock 9; : >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
for how in -n '-w .1'; do unshare -pf --mount-proc flock $how f echo in; echo $?; done
#> 1
#> 1
flock -n f echo in; echo $?
#> 1
announce go; wait $holder
flock -w 60 f echo in
#> in

### owner-that-a-cleaner-of-old-files-leaves
# needs: linux
exec 9>f; flock 9
touch -d '8 days ago' .f.flock/*
find .f.flock -type f -mtime +7 -delete
flock -n f echo in; echo $?
#> 1
stat -c %A .f.flock/* | sort -u
#> prw-rw-rwT
