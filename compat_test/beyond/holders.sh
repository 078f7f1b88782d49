--holders: who has the lock, and who waits.

The output names each process by its role: FLOCK is flock itself, COMMAND its command. The holders are all processes that
have the locked open file.

# needs: proc

### holders-exclusive
flock f sh -c 'echo $$ >pid; exec sleep 100' & flock=$!
await '[ -s pid ] && grep -qa ^sleep /proc/$(cat pid)/cmdline'
flock --holders f | sed "s/^$flock /FLOCK /; s/^$(cat pid) /COMMAND /; s/^\([A-Z]*\) */\1 /; s/ [0-9]*s / AGE /" | sort
#> COMMAND exclusive $USER AGE sleep 100
#> FLOCK exclusive $USER AGE flock f sh -c echo $$ >pid; exec sleep 100
flock --holders f >/dev/null; echo $?
#> 0
kill $(cat pid); wait
flock --holders f; echo $?
#> 1

### holders-modes
names() { sed "s/^$1 /COMMAND /; s/  */ /g" | grep ^COMMAND | cut -d' ' -f 1-3; }
for options in -x -s '--permits 2' '-s -o' '-F -s' '-F --permits 1'; do
	rm -f pid
	flock $options f sh -c 'echo $$ >pid; exec sleep 100' & flock=$!
	await '[ -s pid ]'
	pid=$(cat pid)
	case $options in *-o*) flock --holders f | names $flock;; *) flock --holders f | names $pid;; esac
	kill $pid; wait
done
#> COMMAND exclusive $USER
#> COMMAND shared $USER
#> COMMAND permit $USER
#> COMMAND shared $USER
#> COMMAND shared $USER
#> COMMAND permit $USER

### holders-several
hold -s f; hold -s f; hold --permits 2 f
flock --holders f | awk '{print $2}' | sort -u
#> permit
#> shared
[ $(flock --holders f | wc -l) -ge 3 ] && echo three or more
#> three or more
release

### holders-waiting

flock f sh -c ': >has; exec sleep 100' & flock=$!
await '[ -e has ]'
flock f true & exclusive=$!
flock -s f true & shared=$!
await '[ $(flock --holders f | grep -c waiting) = 2 ]'
flock --holders f | grep waiting | sed "s/^$exclusive /FLOCK /; s/^$shared /FLOCK /; s/  */ /g; s/ [0-9]*s / AGE /" | sort
#> FLOCK exclusive (waiting) $USER AGE flock f true
#> FLOCK shared (waiting) $USER AGE flock -s f true
kill $exclusive $shared
await '! flock --holders f | grep -q waiting'
flock --holders f >/dev/null; echo $?
#> 0
pkill -P $flock sleep
wait
flock --holders f; echo $?
#> 1

### holders-no-holder-but-a-file
: >f
flock --holders f; echo $?
#> 1
exec 9<f
flock --holders f; echo $?
#> 1

### holders-looks-and-leaves-everything-alone
mkdir d; : >d/f; touch -t 200102030000 d/f
flock --holders d/f; flock --holders d
ls -A d; mtime d/f
#> f
#> 981158400.000000000

### holders-missing-file
flock --holders missing; echo $?
#> flock: cannot open lock file missing: No such file or directory
#> 1
flock --holders no/such/directory; echo $?
#> flock: cannot open lock file no/such/directory: No such file or directory
#> 1
ln -s nothing link
flock --holders link; echo $?
#> flock: cannot open lock file link: No such file or directory
#> 1
: >f
flock --holders f/g; echo $?
#> flock: cannot open lock file f/g: Not a directory
#> 66
echo $(ls -A)
#> f link

### holders-of-a-file-that-may-not-be-read
# needs: root setpriv

# looking takes no permission on the file
: >f; chmod 600 f
setpriv --reuid 65534 --clear-groups flock --holders f; echo $?
#> 1

### holders-wrong-use
flock --holders 2>&1 | head -1
#> flock: --holders takes one file, directory or descriptor number
flock --holders f g; echo $?
#> flock: --holders takes one file, directory or descriptor number
#> 64
flock --holders f -c true; echo $?
#> flock: --holders takes one file, directory or descriptor number
#> 64

### holders-descriptor-not-open
flock --holders 9; echo $?
#> flock: 9: Bad file descriptor
#> flock: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock 9 9>&9
#> 65

### holders-of-a-directory
mkdir d
flock d sleep 100 & flock=$!
await 'flock --holders d >/dev/null'
flock --holders d | grep -c 'exclusive.*sleep 100$'
#> 2
pkill -P $flock sleep; wait
flock --holders d; echo $?
#> 1

### holders-of-a-descriptor
exec 9>>f
flock --holders 9; echo $?
#> 1
flock 9
script() { sed "s/^$$ /SCRIPT /; s/  */ /g; s/ [0-9]*s / AGE /; s,[^ ]*bash .*,bash," | grep ^SCRIPT; }
flock --holders 9 | script 9>&-
#> SCRIPT exclusive $USER AGE bash
flock --holders f | script 9>&-
#> SCRIPT exclusive $USER AGE bash
flock -s 9
flock --holders --fd 9 | script 9>&-
#> SCRIPT shared $USER AGE bash
flock -u 9
flock --holders 9; echo $?
#> 1

### holders-of-a-permit-that-is-converted
exec 9>>f
mode() { flock --holders 9 | sed "s/^$$ /SCRIPT /; s/  */ /g" | grep ^SCRIPT | cut -d' ' -f 2; }
for options in '--permits 2' '' '--permits 2'; do flock $options 9; mode; done
#> permit
#> exclusive
#> permit

### holders-number-that-is-no-descriptor-but-a-file

# with a number alone the descriptor is meant, as in the other forms
: >8
hold 8
flock --holders 8; echo $?
#> flock: 8: Bad file descriptor
#> flock: is descriptor 8 open? ksh and mksh pass it on only with 8>&8, as in flock 8 8>&8
#> 65
flock --holders ./8 >/dev/null; echo $?
#> 0
release

### holders-killed
flock f sh -c 'echo $$ >pid; exec sleep 100' & flock=$!
await '[ -s pid ]'
kill -9 $flock; wait $flock
flock --holders f | sed "s/^$(cat pid) /COMMAND /; s/  */ /g" | cut -d' ' -f 1-3
#> COMMAND exclusive $USER
kill -9 $(cat pid)
await '! flock --holders f >/dev/null'

### holders-heading-on-a-terminal
# needs: script
: >f
flock f sleep 100 & flock=$!
await 'flock --holders f >/dev/null'
script -qec 'flock --holders f' /dev/null </dev/null | tr -d '\r' | sed 's/  */ /g' | head -1
#> PID MODE USER AGE COMMAND
flock --holders f | grep -c PID
#> 0
pkill -P $flock sleep; wait
script -qec 'flock --holders f; echo $?' /dev/null </dev/null | tr -d '\r' | sed 's/  */ /g' | grep -v PID
#> 1

### holders-age
# needs: linux

# the age of the process, which is older than its lock
sh -c 'sleep 1.1; exec 9>f; flock 9; : >has; until [ -e go ]; do read _ <../wake.go || exit; done' & holder=$!
await '[ -e has ]'
flock --holders f | awk -v holder=$holder '$1 == holder { print $4 }' | grep -c '^[1-9][0-9]*s$'
#> 1
announce go; wait

### holders-command-lines-are-one-line
flock f sleep 100 '' 2>/dev/null
flock f sh -c ': >has; exec sleep "$0"' 100 & flock=$!
await '[ -e has ]'
flock -F g sh -c ': >too; exec -a "$(printf "a\nb\033[1m")" sleep 100' 2>/dev/null & odd=$!
flock -F h bash -c ': >has2; exec -a "$(printf "a\nb\033[1m")" sleep 100' & odd=$!
await '[ -e has2 ] && ! grep -qa ^bash /proc/$odd/cmdline'
flock --holders h | sed "s/^$odd /COMMAND /; s/ [0-9]*s / AGE /"
#> COMMAND exclusive $USER AGE a?b?[1m 100
kill $odd; pkill -P $flock sleep; wait

### holders-conflict-options-mean-nothing

# -n, -w and -E are for those who lock
flock --holders -n -E 9 -w 1 f 2>&1 | grep -c 'No such file'
#> 1

### holders-output-cannot-be-written
# needs: full
hold f
flock --holders f >/dev/full; echo $?
#> flock: write error: No space left on device
#> 71
release
# nobody reads: that is no error, and the answer stays
flock --holders f >&-; echo $?
#> 1

### holders-that-cannot-be-told
# kernel: a directory tells who holds its lock without /proc
# needs: mount root

# without /proc, with one that is not of this system, and with one of another pid namespace
: >f
unshare -m sh -c 'mount -t tmpfs none /proc && flock --holders f; echo $?' 2>&1 | sed 's/holds f: .*/holds f: .../'
#> flock: cannot tell who holds f: ...
#> 69
unshare -m sh -c 'mount -t tmpfs none /proc && ln -s 1 /proc/self && flock --holders f; echo $?' 2>&1 | sed 's/holds f: .*/holds f: .../'
#> flock: cannot tell who holds f: ...
#> 69
unshare -pf --mount-proc sh -c 'flock --holders f 2>/dev/null; echo $?'
#> 1

### holders-recipe-says-nobody-for-nobody-only
# kernel: a directory tells who holds its lock without /proc
# needs: mount root full

# the recipe of doc/recipes.md
recipe() { flock --holders "$1" || case $? in 1) echo nobody ;; esac; }
: >f
recipe f
#> nobody
recipe . 2>/dev/null
#> nobody
hold f
recipe f | grep -c nobody
#> 0
release
recipe f/g 2>&1
#> flock: cannot open lock file f/g: Not a directory
unshare -m bash -c "$(declare -f recipe); mount -t tmpfs none /proc && recipe f 2>&1 | sed 's/: .*/: .../'"
#> flock: ...
hold f
recipe f >/dev/full
#> flock: write error: No space left on device
release


### holders-of-another-user
# needs: root setpriv
: >f; chmod 666 f; chmod 777 .
setpriv --reuid 65534 --clear-groups flock f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
flock --holders f | sed "s/^$(cat pid) /COMMAND /; s/  */ /g" | grep COMMAND | cut -d' ' -f 1-3
#> COMMAND exclusive nobody
kill $(cat pid); wait

### holders-seen-by-another-user
# needs: root setpriv

# who may not look into the holder learns at least that there is one, and its process id
: >f; chmod 666 f
flock -F f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ] && grep -qa ^sleep /proc/$(cat pid)/cmdline'
setpriv --reuid 65534 --clear-groups flock --holders f | sed "s/^$(cat pid) /COMMAND /; s/  */ /g" | cut -d' ' -f 1-3; echo ${PIPESTATUS[0]}
#> COMMAND exclusive $USER
#> 0
kill $(cat pid); wait
setpriv --reuid 65534 --clear-groups flock --holders f; echo $?
#> 1

### holders-strangers-text
flock -F f bash -c 'exec -a "$(printf "a\\033[1mb\\302\\233c\\342\\200\\256d\\233e\\nf")" sleep 100' & odd=$!
await '[ -e f ] && flock --holders f >/dev/null && ! grep -qa ^bash /proc/$odd/cmdline'
flock --holders f | sed "s/^$odd /COMMAND /; s/exclusive [^ ]* [0-9]*s /exclusive USER AGE /"
#> COMMAND exclusive USER AGE a?[1mb?c?d?e?f 100
kill $odd; wait

### holders-shows-a-cooldown
# needs: linux

# it is nobody's, so that the answer stays; whoever has set the time, --cooldown obeys it
flock --cooldown 600 f true
flock --holders f | sed 's/[0-9]/N/g'; echo ${PIPESTATUS[0]}
#> - cooldown - - until NNNN-NN-NN NN:NN:NN +NNNN
#> 1
touch -d '2100-01-02 03:04:05 UTC' f
flock --holders f
#> - cooldown - - until 2100-01-02 03:04:05 +0000
touch -d '2100-01-02 03:04:05.1 UTC' f
flock --holders f
#> - cooldown - - until 2100-01-02 03:04:06 +0000
hold f
flock --holders f | awk '{print $2}' | uniq; flock --holders f >/dev/null; echo $?
#> exclusive
#> cooldown
#> 0
release
exec 9<f
flock --holders 9
#> - cooldown - - until 2100-01-02 03:04:06 +0000
touch f
flock --holders f; echo $?
#> 1

### holders-with-the-words-of-a-guard
flock -F f bash -c 'exec -a "lock-guard --socket=3" sleep 100' & odd=$!
await 'grep -qsa ^lock-guard /proc/$odd/cmdline && flock --holders f >/dev/null'
flock --holders f | sed "s/^$odd /COMMAND /" | awk '{print $1, $2, $5, $6}'; echo ${PIPESTATUS[0]}
#> COMMAND exclusive lock-guard --socket=3
#> 0
flock --report 0 -n f true 2>&1 | sed "s/process $odd /process COMMAND /; s/for [0-9]* s/for N s/"
#> flock: f is held by process COMMAND (lock-guard --socket=3 100), running for N s
kill $odd; wait
