--holders of a directory lock.

# directory: only

### holders-on-another-machine
flock f true
id=$(flock f sh -c 'ls .f.flock' | sed -n 's/^excl,//p')
# the last parts of an ID are the machine, its boot, the pid namespace and the device
other=$(echo "$id" | awk -F, -v OFS=, '{$3 = 77; $6 = "elsewhere"; $7 = "m"; $8 = "b"; print}')
mkfifo ".f.flock/excl,$other"
flock --holders f | sed "s/  */ /g; s;excl,[^ )]*;RECORD;"; echo ${PIPESTATUS[0]}
#> 77 exclusive - - on host elsewhere: "flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD
#> 0
flock -n --verbose f true 2>&1 | grep 'held by' | sed "s;excl,[^ )]*;RECORD;"
#> flock: held by process 77 on host elsewhere ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD)
rm -r .f.flock
flock -n f echo in
#> in

### holders-state-that-cannot-be-read
mkdir .f.flock; : >f
flock --holders f; echo $?
#> flock: f: cannot read: state directory $DIR/.f.flock: its token is missing, perhaps removed by a cleaner of old files or lost in a copy; when nobody uses the lock, remove the directory
#> 65

### holders-shows-only-the-living
flock -s -F f sh -c ': >has; exec sleep 100' & dead=$!
await '[ -e has ]'
flock --holders f | grep -c .
#> 1
kill -9 $dead; wait $dead
flock --holders f; echo $?
#> 1

### holders-flock-dir
mkdir state
export FLOCK_DIR=$PWD/state
flock f sh -c 'flock --holders f >/dev/null; echo $?'
#> 0
flock --holders f; echo $?
#> 1
ls -A
#> f
#> state

### holders-of-a-file-that-was-removed
# needs: proc

# the lock is on the name
flock -F f sh -c ': >has; exec sleep 100' & holder=$!
await '[ -e has ]'
rm f has
flock --holders f | sed "s/^$holder /COMMAND /" | cut -d' ' -f 1-2; echo ${PIPESTATUS[0]}
#> COMMAND exclusive
#> 0
ls -A
#> .f.flock
kill $holder; wait
flock --holders f; echo $?
#> flock: cannot open lock file f: No such file or directory
#> 1

### holders-stopped-in-the-middle
# needs: proc

# The state as a process leaves it that is stopped while it takes the lock: it keeps all others out. The name of its lifeline is
# moved here.
flock -F other sh -c ': >has; exec sleep 100' & stopped=$!
await '[ -e has ]'
flock f true
record=$(ls .other.flock | grep ^excl,)
mv .f.flock/free .f.flock/busy,${record#*,}
mv .other.flock/$record .f.flock/wait,${record#*,}@excl
flock --holders f | sed "s/^$stopped /STOPPED /" | cut -d' ' -f 1-2; echo ${PIPESTATUS[0]}
#> STOPPED busy
#> STOPPED exclusive
#> 0
flock -n --verbose f echo in 2>&1 | grep 'held by' | sed "s/process $stopped\([^0-9]\)/STOPPED\1/"
#> flock: held by STOPPED, which is taking or releasing it
flock -w 2.5 f echo in 2>&1 | sed "s/process $stopped\([^0-9]\)/STOPPED\1/"; echo ${PIPESTATUS[0]}
#> flock: waiting: held by STOPPED, which is taking or releasing it
#> 1
kill $stopped; wait
flock --holders f; echo $?
#> 1
flock f echo in
#> in

### holders-strangers-text-in-names
# needs: byte-names
flock f true
mkfifo ".f.flock/$(printf 'excl,v1,5,77,z,0.0.1,a\033[31m\302\233b\342\200\256\377,m,b,7.1,d')"
flock --holders f | sed 's;excl,[^ )]*;RECORD;'
#> 77 exclusive - - on host a?[31m?b??: "flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD
flock -n --verbose f true 2>&1 | grep held | sed 's;excl,[^ )]*;RECORD;'
#> flock: held by process 77 on host a?[31m?b?? ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD)
flock -w 1.3 f true 2>&1 | sed 's;excl,[^ )]*;RECORD;'
#> flock: waiting: held by process 77 on host a?[31m?b??
rm .f.flock/excl,*
: >"$(printf '.f.flock/busy,7,5\033[31m\302\233\342\200\256\377,h,m,b,n,,,z')"
flock f true 2>&1 | grep -o 'cannot read[^;]*'
#> cannot read the name "busy,7,5\x1b[31m\u009b\u202e\xff,h,m,b,n,,,z" as one of version v1

### holders-a-script-that-has-ended-on-another-machine
# needs: mount root linux proc

# A script that ended there without flock -u has left a record that only that machine can judge. Who waits is told who
# has it, and who is refused what helps; it does.
echo 11111111-2222-3333-4444-555555555555 >boot
there() {
	unshare -mu sh -c 'mount --bind boot /proc/sys/kernel/random/boot_id && echo there >/proc/sys/kernel/hostname &&
		FLOCK_BACKEND=directory exec "$@"' sh "$@"
}
there bash -c '( flock 9 ) 9>f'
told() { grep -v using | sed 's/process [0-9][0-9]*/SCRIPT/; s/) there .* frees/) there frees/; s;excl,[^ )]*;RECORD;'; }
flock -w 1.3 f echo in 2>&1 | told; echo ${PIPESTATUS[0]}
#> flock: waiting: held by SCRIPT on host there
#> 1
flock -n --report 0 f echo in 2>&1 | told
#> flock: f is held by SCRIPT (on host there)
flock -n --verbose f echo in 2>&1 | told
#> flock: held by SCRIPT on host there ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD)
#> flock: failed to get lock
flock --holders f | told | sed 's/  */ /g; s/^[0-9]* /SCRIPT /'
#> SCRIPT exclusive - - on host there: "flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) there frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD
there flock -n f true; echo $?
#> 0
flock -n f echo in
#> in

### holders-a-script-of-another-user-that-has-ended
# needs: linux root setpriv

# what is said to the third user is true for both who can judge it: that user and root
: >f; chmod 666 f; chmod 777 .
umask 0
as() { setpriv --reuid $1 --clear-groups "${@:2}"; }
setpriv --reuid 54321 --clear-groups bash -c 'exec 9>>f; flock 9; exec sleep 100' & script=$!
await 'grep -qa ^sleep /proc/$script/cmdline'
kill $script; wait $script 2>/dev/null
setpriv --reuid 54321 --clear-groups sleep 100 & later=$!
await 'grep -qa ^sleep /proc/$later/cmdline'
told() { grep "$1" | sed "s/process $script/SCRIPT/; s/^- *//; s;excl,[^ )]*;RECORD;"; }
as 54322 flock -n --verbose f true 2>&1 | told held
#> flock: held by SCRIPT ("flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) as user 54321 or root frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD)
as 54322 flock --holders f | told exclusive
#> exclusive - - a process that this user may not see: "flock --backend directory -n $DIR/f true" (flock-go where it is not diverted) as user 54321 or root frees it if nobody has it any more; if it does not, and that process and all that it has started are gone, remove $DIR/.f.flock/RECORD
as 54321 flock -n f echo in
#> in
as 54322 flock -n f echo in
#> in
kill $later; wait

### holders-of-an-earlier-boot
# needs: mount root proc

# Another boot id beside the same host name and machine-id: outside of containers that is this machine, started anew.
# In one, it may be a copy of another that runs: it counts as alive, and who waits is told what to remove.
echo 11111111-2222-3333-4444-555555555555 >boot
anew() { unshare -m "$@" sh -c 'mount --bind boot /proc/sys/kernel/random/boot_id && flock -n --verbose f echo in; echo $?'; }
flock -F f sh -c ': >has; exec sleep 100' & holder=$!
await '[ -e has ]'
anew -pf --mount-proc 2>&1 | sed "/using/d; s/process $holder /HOLDER /; s/host [^ ]*/host NAME/; s;remove [^ )]*;remove RECORD;"
#> flock: held by HOLDER of another boot on host NAME (if that process and all that it has started are gone, remove RECORD)
#> flock: failed to get lock
#> 1
kill $holder; wait

### holders-of-many-names
flock f true
id=$(flock f sh -c 'ls .f.flock' | sed -n 's/^excl,//p')
# the last parts of an ID are the machine, its boot, the pid namespace and the device
(cd .f.flock && awk -F, -v OFS=, '{ $6 = "elsewhere"; $7 = "m"; $8 = "b"; for ($3 = 1; $3 <= 400; $3++) print "shared," $0 }
' <<<"$id" | xargs mkfifo)
flock --holders f | grep -c "on host elsewhere"
#> 400
flock -n f echo in; echo $?
#> 1
rm -r .f.flock
