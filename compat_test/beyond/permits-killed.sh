The holder of a permit can be killed at any time.

### permits-flock-killed

# the command has it still
hold --permits 1 f
kill -9 ${holders[0]}; wait ${holders[0]}
flock -n --permits 1 f echo in; echo $?
#> 1
announce go
await 'flock -n --permits 1 f true'
echo free
#> free

### permits-command-killed
flock --permits 1 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $(cat pid)
wait $!; echo $?
#> 137
flock -n --permits 1 f echo in
#> in

### permits-both-killed
flock --permits 1 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
kill -9 $! $(cat pid); wait $!
flock -w 20 --permits 1 f echo in
#> in

### permits-no-fork-killed
flock -F --permits 1 f sh -c ': >has; exec sleep 100' &
await '[ -e has ]'
kill -9 $!; wait $!
flock -n --permits 1 f echo in
#> in

### permits-close-flock-killed

# with --close the permit is that of flock alone
flock -o --permits 1 f sh -c 'echo $$ >pid; exec sleep 100' &
await '[ -s pid ]'
flock -n --permits 1 f echo in; echo $?
#> 1
kill -9 $!; wait $!
flock -n --permits 1 f echo in
#> in
kill -9 $(cat pid)

### permits-a-child-keeps-it

flock --permits 1 f sh -c 'sleep 100 & echo $! >pid'
flock -n --permits 1 f echo in; echo $?
#> 1
kill -9 $(cat pid)
flock -w 20 --permits 1 f echo in
#> in

### permits-close-a-child-does-not-keep-it
flock -o --permits 1 f sh -c 'sleep 100 & echo $! >pid'
flock -n --permits 1 f echo in; echo $?
#> in
#> 0
kill -9 $(cat pid)

### permits-script-killed
cat >script.sh <<'END'
exec 9>>f
flock --permits 1 9
: >has
exec sleep 100
END
sh script.sh & await '[ -e has ]'
flock -n --permits 1 f echo in; echo $?
#> 1
kill -9 $!; wait $!
flock -n --permits 1 f echo in
#> in

### permits-flock-stopped

# a stopped holder keeps its permit
hold --permits 1 f
kill -STOP ${holders[0]}
flock -w .1 --permits 1 f echo in; echo $?
#> 1
kill -CONT ${holders[0]}
release
flock -n --permits 1 f echo in
#> in

### permits-waiter-killed
hold --permits 1 f
flock --permits 1 f echo never & waiter=$!
await asleep
kill -9 $waiter; wait $waiter; echo $?
#> 137
release
flock -n f echo in
#> in
