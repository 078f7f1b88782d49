--holders of a directory lock.

### holders-on-another-machine
# directory: only
flock f true
id=$(flock f sh -c 'ls .f.flock' | sed 's/^excl,//')
# the fourth and fifth parts of an id are the machine and its boot
other=$(echo "$id" | awk -F, -v OFS=, '{$3 = "elsewhere"; $4 = "m"; $5 = "b"; print}')
mv .f.flock/free ".f.flock/excl,$other"
flock --holders f | sed "s/^${id%%,*} /PID /; s/  */ /g; s;remove .*/dir;remove \$DIR;"; echo ${PIPESTATUS[0]}
#> PID exclusive - on host elsewhere: remove $DIR/.f.flock if that is gone
#> 0
flock -n --verbose f true 2>&1 | grep 'held by' | sed "s/process [0-9]*/process PID/"
#> flock: held by process PID on host elsewhere (remove $DIR/.f.flock if that is gone)
rm -r .f.flock
flock -n f echo in
#> in

### holders-state-that-cannot-be-read
# directory: only
mkdir .f.flock; : >f
flock --holders f; echo $?
#> flock: f: cannot read: state directory $DIR/.f.flock: its token is missing; when nobody uses the lock, remove the directory
#> 65

### holders-shows-only-the-living
# directory: only
flock -s -F f sh -c ': >has; exec sleep 100' & dead=$!
await '[ -e has ]'
flock --holders f | grep -c .
#> 1
kill -9 $dead; wait $dead
flock --holders f; echo $?
#> 1

### holders-flock-dir
# directory: only
mkdir state
export FLOCK_DIR=$PWD/state
flock f sh -c 'flock --holders f >/dev/null; echo $?'
#> 0
flock --holders f; echo $?
#> 1
ls -A
#> f
#> state
