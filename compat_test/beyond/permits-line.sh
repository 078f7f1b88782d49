Those who wait for a permit stand in line: for a byte of the file, which the next one has locked.

# needs: linux locks proc
# kernel: the directory lock has a line of its own

### permits-in-the-order-of-arrival
hold --permits 1 f
flock --permits 1 f sh -c 'echo 1 >>out' & await "is_next $!"
for i in 2 3 4 5 6; do
	flock --permits 1 f sh -c "echo $i >>out" &
	await "waiting f $((i - 1))"
done
flock -n --permits 1 f echo no; echo $?
#> 1
release; wait
xargs <out
#> 1 2 3 4 5 6

### permits-waiters-in-line-are-killed
hold --permits 1 f
flock --permits 1 f echo no & a=$!; await "is_next $a"
flock --permits 1 f echo no & b=$!; await 'waiting f'
flock --permits 1 f echo in & c=$!; await 'waiting f 2'
kill -9 $b; wait $b; await '! waiting f 2'
kill -9 $a; wait $a; await "is_next $c"
release; wait
#> in

### permits-a-waiter-with-the-descriptor-of-a-shell-is-killed
hold --permits 1 f
exec 9>>f
flock --permits 1 9 & a=$!; await "is_next $a"
kill -9 $a; wait $a
flock --permits 1 f echo in & await "is_next $!"
release; wait
#> in

### permits-the-time-in-line-counts
hold --permits 1 f
flock -w .1 -E 6 --permits 1 f echo no; echo $?
#> 6
flock --permits 1 f echo in & await "is_next $!"
flock -w .1 -E 7 --permits 1 f echo no; echo $?
#> 7
release; wait
#> in

### permits-of-a-descriptor-that-is-waited-for
exec 9>>f
flock --permits 1 9
flock --permits 1 f echo in 9>&- & await "is_next $!"
flock -w 20 --permits 1 9; echo $?
#> 0
exec 9>&-; wait
#> in
exec 9>>f
flock 9
flock --permits 1 f sh -c ': >was-in' 9>&- & await "is_next $!"
flock -w 20 --permits 1 9; echo $? # a conversion lets in whoever is faster
#> 0
exec 9>&-; wait; ls was-in
#> was-in

### permits-the-line-and-the-place-have-one-open-file
hold --permits 1 f
flock --queue 2 --permits 1 f echo in & await "is_next $!"
ls -l /proc/$!/fd | grep -c '/f$'
#> 2
placed $!; echo $?
#> 0
flock --queue 1 --permits 1 f echo no; echo $?
#> 1
release; wait
#> in

### permits-the-line-is-a-byte-of-the-file
hold f
flock --permits 1 f echo in & await "is_next $!"
flock -n --fcntl f true; echo $?
#> 1
release; wait
#> in

### permits-nobody-stands-in-line-for-a-program
: >f; chmod +x f
hold --permits 1 f
flock --permits 1 f echo in & a=$!
flock --permits 1 f echo in & b=$!
await 'asleep 2'
is_next $a; echo $?; is_next $b; echo $?
#> 1
#> 1
release; wait
#> in
#> in

### holders-waiters-for-a-permit
hold --permits 1 f
flock --permits 1 f true & a=$!; await "is_next $a"
flock --permits 1 f true & await 'waiting f'
flock --holders f | awk -v a=$a '{print $2, $3 == "(waiting)", $1 == a}' | sort -u
#> permit 0 0
#> permit 1 0
#> permit 1 1
release; wait
hold f
flock --permits 1 f true & a=$!; await "is_next $a"; await 'waiting f'
flock --holders f | grep -c waiting
#> 1
release; wait
