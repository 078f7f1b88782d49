How the lock file is opened and made, and what stays unchanged.

### makes-the-file-empty
flock f true
wc -c <f | tr -d ' '
#> 0

### mode-of-a-new-file
for mask in 022 077 0; do
	umask $mask; flock f$mask true; ls -l f$mask | cut -c 1-10
done
#> -rw-r--r--
#> -rw-------
#> -rw-rw-rw-

### mode-of-an-old-file-kept
touch f; chmod 640 f
flock f true; ls -l f | cut -c 1-10
#> -rw-r-----

### content-kept
echo text >f
flock f true
flock -s f true
cat f
#> text

### content-kept-on-conflict
echo text >f
hold f
flock -n f true
cat f
release
cat f
#> text
#> text

### times-kept
touch -t 200102030405.06 f
flock f true
mtime f
#> 981173106.000000000

### executable-file-kept
printf '#!/bin/sh\necho me\n' >f; chmod 755 f
flock f ./f; ls -l f | cut -c 1-10
#> me
#> -rwxr-xr-x

### file-stays-after-the-command
flock f true; ls
#> f

### nothing-else-is-left
flock f true; flock -s g -c true; ls
#> f
#> g

### opened-read-only
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
flock f sh -c 'grep flags /proc/self/fdinfo/3' | sed 's/0100000/read-only/'
#> flags:	read-only

### opened-read-only-shared
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
flock -s f sh -c 'grep flags /proc/self/fdinfo/3' | sed 's/0100000/read-only/'
#> flags:	read-only

### lowest-free-number
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
exec 3</dev/null 5</dev/null
flock f sh -c 'readlink /proc/self/fd/4 | sed "s,.*/,,"'
#> f

### lowest-free-number-is-3
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
flock f sh -c 'readlink /proc/self/fd/3 | sed "s,.*/,,"'
#> f

### directory-opened-read-only
# kernel: with the directory lock the number of the lock file has the lifeline in the command
# needs: proc
mkdir d
flock d sh -c 'grep flags /proc/self/fdinfo/3' | sed 's/0100000/read-only/'
#> flags:	read-only

### missing-directory
flock no/f true; echo $?
#> 66
#2> flock: cannot open lock file no/f: No such file or directory

### missing-directory-trailing-slash
# needs: linux
flock no/ true; echo $?
#> 66
#2> flock: cannot open lock file no/: No such file or directory

### file-as-directory
touch d
flock d/f true; echo $?
#> 66
#2> flock: cannot open lock file d/f: Not a directory

### file-with-trailing-slash
touch f
flock f/ true; echo $?
#> 66
#2> flock: cannot open lock file f/: Not a directory

### loop-of-symlinks
ln -s a b; ln -s b a; ln -s c c
flock a true; echo $?
flock c true; echo $?
#> 66
#> 66
#2> flock: cannot open lock file a: Too many levels of symbolic links
#2> flock: cannot open lock file c: Too many levels of symbolic links

### name-too-long
name=$(printf '%0256d' 0)
flock "$name" true 2>err; echo $?
sed 's/0000*/NAME/' err
#> 66
#> flock: cannot open lock file NAME: File name too long

### name-of-255-bytes
for length in 255 200; do
	name=$(printf "%0${length}d" 0)
	flock "$name" echo hi; echo $?
	ls | wc -c | tr -d ' '
	rm "$name"
done
#> hi
#> 0
#> 256
#> hi
#> 0
#> 201

### path-too-long
name=$(printf '%0200d/' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22)
flock "$name" true 2>err; echo $?
sed 's,[0-9/]*/,PATH,' err
#> 66
#> flock: cannot open lock file PATH: File name too long

### name-with-blanks
flock 'a b  c' echo hi
ls
#> hi
#> a b  c

### name-with-newline
flock $'a\nb' echo hi
ls | tr '\n' /
#> hi
#> a/b/
#\ no newline at the end

### name-not-utf8
# needs: byte-names
flock $'\xff\xfe' echo hi
ls | od -An -tx1 | tr -d ' '
#> hi
#> fffe0a

### name-with-control-in-message
flock $'no/a\001b' true 2>&1 | cat -v
#> flock: cannot open lock file no/a^Ab: No such file or directory

### name-not-utf8-in-message
flock $'no/\xff' true 2>&1 | cat -v
#> flock: cannot open lock file no/M-^?: No such file or directory

### name-with-percent
flock '%s%n%d' echo hi
ls
flock 'no/%s%n%d' true; echo $?
#> hi
#> %s%n%d
#> 66
#2> flock: cannot open lock file no/%s%n%d: No such file or directory

### name-with-leading-dash
flock ./-n echo hi
ls
#> hi
#> -n

### symlink-to-a-file
touch f; ln -s f l
flock l echo hi
ls
#> hi
#> f
#> l

### symlink-dangling-makes-its-target
ln -s f l
flock l echo hi
ls
#> hi
#> f
#> l

### symlink-dangling-into-nowhere
ln -s no/f l
flock l echo hi; echo $?
#> 66
#2> flock: cannot open lock file l: No such file or directory

### symlink-to-a-directory
mkdir d; ln -s d l
flock l echo hi; echo $?
ls d
#> hi
#> 0

### fifo
# needs: linux
mkfifo p
exec 9<>p
flock p echo hi; echo $?
#> hi
#> 0

### fifo-without-writer-waits-in-open
# needs: proc wchan
# kernel: without kernel locks the run without the Go runtime opens the fifo first, and that uses up the writer
mkfifo p
flock p echo hi &
await 'grep -q -e pipe -e fifo -e open /proc/$!/wchan || grep -q ^State:.S /proc/$!/status'
echo waiting
: >p
wait $!; echo $?
#> waiting
#> hi
#> 0

### device
# needs: full
# kernel: only the kernel can lock a device
flock -s /dev/null echo hi; echo $?
#> hi
#> 0

### device-tty-none
# needs: linux
flock /dev/tty echo hi; echo $?
#> 66
#2> flock: cannot open lock file /dev/tty: No such device or address

### socket
# needs: python3 linux
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('s')"
flock s echo hi; echo $?
#> 66
#2> flock: cannot open lock file s: No such device or address

### permission-denied-reading
# needs: root setpriv
touch f; chmod 200 f
setpriv --reuid 65534 --regid 65534 --clear-groups flock f echo hi; echo $?
#> 66
#2> flock: cannot open lock file f: Permission denied

### permission-denied-making
# needs: root setpriv
mkdir d; chmod 755 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock d/f echo hi; echo $?
#> 66
#2> flock: cannot open lock file d/f: Permission denied

### permission-denied-searching
# needs: root setpriv
mkdir d; touch d/f; chmod 600 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock d/f echo hi; echo $?
#> 66
#2> flock: cannot open lock file d/f: Permission denied

### permission-read-only-file-is-enough
# needs: root setpriv
# kernel: the directory lock needs a place to write to
mkdir d; touch d/f; chmod 444 d/f; chmod 755 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock d/f echo hi; echo $?
#> hi
#> 0

### permission-of-another-users-file
# needs: root setpriv
# kernel: the directory lock needs a place to write to
mkdir d; touch d/f; chmod 644 d/f
hold d/f
setpriv --reuid 65534 --regid 65534 --clear-groups flock -n d/f echo hi; echo $?
release
#> 1

### permission-in-a-sticky-directory
# needs: root setpriv linux
# kernel: the directory lock needs a place to write to
mkdir d; chmod 1777 d; touch d/f
setpriv --reuid 65534 --regid 65534 --clear-groups flock d/f echo hi 2>err; echo $?
setpriv --reuid 65534 --regid 65534 --clear-groups flock d/g echo hi; stat -c %u d/g
#> hi
#> 0
#> hi
#> 65534

### read-only-filesystem-missing-file
# needs: root mount
unshare -m sh -c 'mkdir m; mount -t tmpfs -o ro none m; flock m/f echo hi; echo $?'
#> 73
#2> flock: cannot open lock file m/f: Read-only file system

### read-only-filesystem-old-file
# needs: root mount
# kernel: the directory lock needs a place to write to
unshare -m sh -c 'mkdir m; mount -t tmpfs none m; touch m/f; mount -o remount,ro m; flock m/f echo hi; echo $?'
#> hi
#> 0

### read-only-filesystem-directory
# needs: root mount
# kernel: the directory lock needs a place to write to
unshare -m sh -c 'mkdir m; mount -t tmpfs -o ro none m; flock m echo hi; echo $?'
#> hi
#> 0

### no-space-for-the-file
# needs: root mount
unshare -m sh -c 'mkdir m; mount -t tmpfs -o nr_inodes=2 none m; : >m/a; flock m/f echo hi; echo $?'
#> 73
#2> flock: cannot open lock file m/f: No space left on device

### no-space-does-not-matter-for-an-old-file
# needs: root mount
# kernel: the directory lock needs a place to write to
unshare -m sh -c 'mkdir m; mount -t tmpfs -o nr_inodes=2 none m; : >m/f; flock m/f echo hi; echo $?'
#> hi
#> 0

### no-descriptor-needed-for-a-number
# needs: linux
# kernel: the directory lock opens its directory
bash -c 'exec 5>f; ulimit -n 6; exec flock 5'; echo $?
#> 0

### immutable-dev-full
# needs: full
# kernel: only the kernel can lock a device
flock -n /dev/full echo hi; echo $?
#> hi
#> 0

### working-directory-removed
# needs: linux
mkdir gone; cd gone; rmdir "$PWD"
flock f echo hi; echo $?
flock ../f echo hi; echo $?
#> 66
#> hi
#> 0
#2> flock: cannot open lock file f: No such file or directory

### absolute-path
flock "$PWD/f" echo hi
ls
#> hi
#> f

### path-of-a-descriptor
# needs: proc
exec 9>f
flock -n /proc/self/fd/9 echo hi; echo $?
#> hi
#> 0

### file-removed-while-held
# kernel: a kernel lock follows the file, the directory lock the name
hold f
rm f
flock -n f echo in; echo $?
release
#> in
#> 0

### same-file-opened-anew-each-time
exec 9>f
flock f sh -c 'flock -n 9; echo $?'
flock 9
flock -n f true; echo $?
#> 1
#> 1
