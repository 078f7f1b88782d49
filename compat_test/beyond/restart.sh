What a restart of the machine leaves. An imitation of macOS takes the boot from IMITATE_BOOT; elsewhere the holder is only
dead.

# directory: only

### restart-frees-a-lock
IMITATE_BOOT=before flock -F f sh -c ': >has; exec sleep 100' & holder=$!
await '[ -e has ]'
kill -9 $holder; wait $holder
IMITATE_BOOT=after flock -n f echo in
#> in

### killed-on-a-machine-without-a-name
# needs: uts
nameless() { unshare --uts sh -c 'echo >/proc/sys/kernel/hostname; exec "$@"' - "$@"; }
nameless hostname
#> 
nameless flock -F f sh -c 'echo $$ >has; exec sleep 100' & holder=$!
await '[ -s has ]'
kill -9 "$(cat has)"; wait $holder
nameless flock -n f echo in
#> in
nameless flock -F f sh -c 'echo $$ >has2; exec sleep 100' & holder=$!
await '[ -s has2 ]'
nameless flock -n f echo in; echo $?
#> 1
kill -9 "$(cat has2)"; wait $holder

### restart-frees-a-place
hold_until_go() { flock f sh -c ': >has; until [ -e go ]; do read _ <../wake.go || exit; done'; }
export IMITATE_BOOT=before
hold_until_go & holder=$!
await '[ -e has ]'
flock --queue 1 f true & waiter=$!
await 'ls .f.flock.queue 2>/dev/null | grep -q ^permit'
kill -9 $waiter; wait $waiter
announce go; wait $holder; rm go has
export IMITATE_BOOT=after
hold_until_go & holder=$!
await '[ -e has ]'
flock --queue 1 f echo in & waiter=$!
await 'ls .f.flock | grep -q "^wait,.*,$waiter," || ! kill -0 $waiter 2>/dev/null'
announce go; wait $holder; wait $waiter; echo $?
#> in
#> 0
