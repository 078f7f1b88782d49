--remove: the lock file goes away after the command.

### remove-the-file-is-gone
flock --remove f sh -c 'ls f'; echo $?
#> f
#> 0
ls
flock --remove f true; ls

### remove-state-directory-goes
flock --remove f true; ls -A
# a child of the command keeps the lock, and both
flock --remove f sh -c '(until [ -e go ]; do read _ <../wake.go || exit; done) &'; ls -A
#directory> .f.flock
#> f
announce go; flock -w 60 --remove f true; rm go; ls -A

### remove-an-option-behind-the-file
flock --remove f -n true; echo $?
#> flock: failed to execute -n: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
ls

### remove-a-file-that-was-there
touch f; flock --remove f true; ls

### remove-forms
for o in -s -x -o '--permits 2' -n '-w 5' '-s -o'; do
	flock --remove $o f sh -c 'echo *'
done | uniq -c | sed 's/^ *//'
#> 7 f
flock --remove f -c 'echo *; exit 3'; echo $?
#> f
#> 3
cd ..; flock --remove dir/g true; ls dir

### remove-status-and-output-of-the-command
flock --remove f sh -c 'echo out; exit 7'; echo $?
#> out
#> 7
flock --remove f sh -c 'kill -TERM $$'; echo $?
#> 143
flock --remove f ./missing; echo $?
#> flock: failed to execute ./missing: No such file or directory
#> 69
ls

### remove-fcntl
# needs: ofd
# kernel: fcntl(2) locks are the kernel's
flock --remove --fcntl f ls
#> f
flock --remove -s --backend fcntl f ls
#> f
hold --fcntl -s f
flock --remove -s --fcntl f true; ls
#> f
release

### remove-on-conflict-nothing-is-removed
hold f
flock -n --remove f echo in; echo $?
#> 1
flock -w .05 -E 9 --remove f echo in; echo $?
#> 9
ls
#> f
release

### remove-the-last-reader-does-it
hold --remove -s f
flock --remove -s f sh -c 'echo *'
#> f
ls
#> f
release; ls

### remove-the-last-of-two-readers
hold --remove -s f; hold --remove -s f
ls
#> f
release; ls

### permits-the-last-removes-the-file
hold --remove --permits 3 f
flock -n --remove --permits 3 f sh -c 'echo *'
#> f
ls
#> f
release; ls

### permits-removed-with-their-state
flock --remove --permits 2 p true; ls -A
hold --remove --permits 2 p
flock --remove --permits 2 p sh -c 'echo *'
#> p
ls
#> p
release; ls -A

### permits-a-plain-lock-keeps-the-file
hold -s p
flock --remove --permits 2 p true; ls
#> p
flock -n p echo in; echo $?
#> 1
release

### permits-removed-beside-plain-locks-and-never-two
cat >worker <<'END_'
for i in 1 2 3 4 5 6 7 8 9 10; do flock "$@" p sh -c 'mkdir in || echo two; sleep .01; rmdir in' || echo failed; done
END_
sh worker --remove & sh worker --remove --permits 1 & sh worker --remove & sh worker --remove --permits 1 &
# where permits have a state directory, the last run leaves it if it is one without
wait; ls
#> worker

### remove-a-plain-holder-keeps-it
hold -s f
flock --remove -s f true; ls
#> f
release
ls
#> f

### remove-a-child-of-the-command-keeps-it
# kernel: the directory lock ends with the command
flock --remove f sh -c 'until [ -e go ]; do read _ <../wake.go || exit; done & :'
ls
#> f
flock -n --remove f echo in; echo $?
#> 1
announce go
flock --remove f ls
#> f
#> go
ls
#> go

### remove-a-waiter-has-a-file-with-that-name
# needs: linux
hold --remove f
flock --remove f sh -c '[ f -ef /dev/fd/3 ] || [ f -ef /dev/fd/4 ] && echo mine; flock -n --remove f echo in; echo $?' &
await 'waiting f'
release
wait
#> mine
#> 1
ls

### remove-a-waiter-whose-file-is-gone-makes-another
hold f
flock --remove f sh -c '[ -e f ] && echo there; flock -n f echo in; echo $?' &
await 'waiting f'
rm f
release
wait
#> there
#> 1

### remove-two-waiters-are-not-both-in
hold --remove f
for i in 1 2 3 4; do flock --remove f sh -c 'mkdir in || echo two; sleep .02; rmdir in' & done
await 'waiting f 4'
release
wait; ls

### remove-the-time-limit-goes-on

# the one who waits begins again with a new file, which a third one has by then
cat >worker <<'END_'
until [ -e stop ]; do flock --remove f sleep .02; done
END_
for i in 1 2 3; do sh worker & done
flock -s --remove f sh -c ': >held; until [ -e stop ]; do sleep .01; done' &
await '[ -e held ]'
flock -w .3 --remove f true; echo $?
#> 1
: >stop; wait; ls
#> held
#> stop
#> worker

### remove-many-at-once
for round in 1 2 3 4 5; do
	for i in 1 2 3 4; do
		flock --remove f true & flock -s --remove f true &
		flock -n --remove f true & flock -o --remove -n f true &
	done
	wait
	[ ! -e f ] || echo "left in round $round"
done

### remove-a-name-that-was-put-there
hold --remove f
rm f; echo new >f
release
cat f
#> new

### remove-not-what-has-content
echo text >f
flock --remove f cat f; cat f
#> text
#> text
flock --remove f true; echo $?
#> 0
rm f; flock --remove f sh -c 'echo text >f'; cat f
#> text

### remove-not-through-a-symbolic-link
: >f; ln -s f l
flock --remove l true; ls
#> f
#> l
ln -s missing m; flock --remove m true; ls
#> f
#> l
#> m
#> missing

### remove-not-one-name-of-several
: >f; ln f g; flock --remove f true; ls
#> f
#> g

### remove-not-a-fifo
# needs: linux
# kernel: the directory lock opens a fifo twice
mkfifo p; exec 9<>p
flock --remove p true; ls
#> p

### remove-says-why-not
# kernel: with the directory lock, --verbose says more
echo text >f; : >g; ln g h; ln -s g l
for name in f g l; do flock --verbose --remove $name true | grep -v -e took -e executing; done
#> flock: lock file f is not removed: it is not empty
#> flock: lock file g is not removed: it has more than one link
#> flock: lock file l is not removed: it is not a regular file
flock --verbose --remove k flock --verbose --remove -n k true 2>&1 >/dev/null | grep -v 'k is held by'
#> flock: failed to get lock
flock --verbose --remove k sh -c 'sleep 9 & echo $! >pid' >/dev/null
#> flock: lock file k is not removed: another process holds the lock
kill $(cat pid)

### remove-the-self-locking-script
cat >script <<'END_'
#!/bin/sh
[ "$FLOCKER" = "$0" ] || exec env FLOCKER="$0" flock --remove -en "$0" "$0" "$@"
echo running "$1"
END_
chmod +x script
./script once; ./script twice
#> running once
#> running twice

### remove-not-allowed
# needs: root setpriv
# kernel: the directory lock needs a place to write to
mkdir d; chmod 755 d; : >d/f; chmod 666 d/f
setpriv --reuid 65534 --clear-groups flock --remove d/f sh -c 'exit 3'; echo $?
#> flock: cannot remove lock file d/f: Permission denied
#> 3
ls d
#> f

### remove-after-a-kill
flock --remove f sh -c 'echo $$ >pid; until [ -e go ]; do read _ <../wake.go || exit; done; : >gone' & flock=$!
await '[ -s pid ]'
kill -9 $flock; wait $flock 2>/dev/null
flock -n --remove f echo in; echo $?
#> 1
announce go; await '[ -e gone ]'
flock --remove f ls f
#> f
ls
#> go
#> gone
#> pid

### remove-in-another-directory
mkdir state d
FLOCK_DIR=$PWD/state flock --remove d/f ls -A d
#> f
ls -A d
