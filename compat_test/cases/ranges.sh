--fcntl, --start and --length: locks of fcntl(2), of the whole file or of a range of bytes.

# since: 2.43
# needs: ofd
# kernel: only the kernel has fcntl(2) locks and byte ranges

### fcntl-basic
flock --fcntl f echo ok
# script: 6ac580991dde
#> ok

### fcntl-conflict
hold --fcntl f
flock --fcntl -n f echo no; echo $?
release
# script: f7e333cbc317
#> 1

### fcntl-shared
hold --fcntl -s f
flock --fcntl -n -s f echo yes; flock --fcntl -n f echo no; echo $?
release
# script: 74e3916ff6e1
#> yes
#> 1

### fcntl-vs-flock
# needs: linux
hold --fcntl f
flock -n f echo independent; echo $?
release
# script: c716f0a762b8
#> independent
#> 0

### fcntl-w-verbose
hold --fcntl f
flock --verbose --fcntl -w .1 f echo no; echo $?
release
# script: 78ea3068c9f5
#> 1
#2> flock: timeout while waiting to get lock

### fcntl-fd-ro-ex
# needs: linux
touch f; exec 9<f; flock --fcntl 9; echo $?
# script: 440d38396fb5
#> 65
#2> flock: 9: Bad file descriptor
# differs: a second line says what to do
#> 65
#2> flock: 9: Bad file descriptor
#2> flock: an exclusive lock of fcntl(2) needs a descriptor that is open for writing: 9>>FILE

### fcntl-fd-wo-sh
exec 9>f
flock --fcntl -s 9; echo $?
# script: b79cc1d8d35f
#> 65
#2> flock: 9: Bad file descriptor
# differs: a second line says what to do
#> 65
#2> flock: 9: Bad file descriptor
#2> flock: a shared lock of fcntl(2) needs a descriptor that is open for reading: 9<FILE

### fcntl-fd-rw
exec 9<>f
flock --fcntl 9; echo $?
flock --fcntl -n f echo no; echo $?
flock --fcntl -u 9; flock --fcntl -n f echo yes
# script: 13f2bc88aba8
#> 0
#> 1
#> yes

### fcntl-dir-ex
# needs: linux
mkdir d; flock --fcntl d echo ok
# script: 892cbb0a7fc4
#2> flock: d: Is a directory
#= 65
# differs: a second line says what to do
#2> flock: d: Is a directory
#2> flock: an exclusive lock of fcntl(2) needs a file: lock one in the directory, or take a shared lock
#= 65

### fcntl-dir-sh
mkdir d; flock --fcntl -s d echo ok
# script: d145a15a65cb
#> ok

### fcntl-open-flags
# needs: proc
flock --fcntl f sh -c 'grep flags /proc/self/fdinfo/3'
# script: 57ec2453bb6e
#> flags:	0100001

### fcntl-open-flags-s
# needs: proc
flock --fcntl -s f sh -c 'grep flags /proc/self/fdinfo/3'
# script: 57fa0d054417
#> flags:	0100000

### fcntl-range-disjoint
# starts: --start and --length
hold --start 0 --length 10 f
flock -n --start 10 --length 5 f echo yes; echo $?
release
# script: 02a344aba714
#> yes
#> 0

### fcntl-range-overlap
# starts: --start and --length
hold --start 0 --length 10 f
flock -n --start 9 --length 5 f echo no; echo $?
release
# script: 67d61f8d93c6
#> 1

### fcntl-length-only
# starts: --start and --length
hold --length 10 f
flock -n --start 10 f echo yes; echo $?
flock -n --start 9 f echo no; echo $?
release
# script: 773728035038
#> yes
#> 0
#> 1

### fcntl-suffixes
for s in 1 1K 1k 1KiB 1KB 1kB 1M 1MiB 1G 1T 1P 1E 1.5K 0x10 010 1Z 1Y 1Q 1b 1B ' 1' '1 ' -1 '' abc 1KiBB 99999999999999999999; do flock --start "$s" f true; echo "[$s] $?"; done
# script: 73973e0cbe9d
#> [1] 0
#> [1K] 0
#> [1k] 0
#> [1KiB] 0
#> [1KB] 0
#> [1kB] 0
#> [1M] 0
#> [1MiB] 0
#> [1G] 0
#> [1T] 0
#> [1P] 0
#> [1E] 0
#> [1.5K] 0
#> [0x10] 0
#> [010] 0
#> [1Z] 64
#> [1Y] 64
#> [1Q] 64
#> [1b] 64
#> [1B] 64
#> [ 1] 0
#> [1 ] 64
#> [-1] 64
#> [] 64
#> [abc] 64
#> [1KiBB] 64
#> [99999999999999999999] 64
#2> flock: invalid as start offset: '1Z': Numerical result out of range
#2> flock: invalid as start offset: '1Y': Numerical result out of range
#2> flock: invalid as start offset: '1Q': Invalid argument
#2> flock: invalid as start offset: '1b': Invalid argument
#2> flock: invalid as start offset: '1B': Invalid argument
#2> flock: invalid as start offset: '1 ': Invalid argument
#2> flock: invalid as start offset: '-1': Invalid argument
#2> flock: invalid as start offset: '': Invalid argument
#2> flock: invalid as start offset: 'abc': Invalid argument
#2> flock: invalid as start offset: '1KiBB': Invalid argument
#2> flock: invalid as start offset: '99999999999999999999': Numerical result out of range

### fcntl-numbers-of-other-languages
# derived: fallocate(1) reads sizes by the same function
for s in 1_000 1_0K 0_7 0o17 0b11 0b1K 0x1_0 0x1p3 .5K 0x0x1K ɐɐɐK; do flock --start "$s" f true; echo "[$s] $?"; done
# script: 69b7f4d94459
#> [1_000] 64
#> [1_0K] 64
#> [0_7] 64
#> [0o17] 64
#> [0b11] 64
#> [0b1K] 64
#> [0x1_0] 64
#> [0x1p3] 64
#> [.5K] 64
#> [0x0x1K] 64
#> [ɐɐɐK] 64
#2> flock: invalid as start offset: '1_000': Invalid argument
#2> flock: invalid as start offset: '1_0K': Invalid argument
#2> flock: invalid as start offset: '0_7': Invalid argument
#2> flock: invalid as start offset: '0o17': Invalid argument
#2> flock: invalid as start offset: '0b11': Invalid argument
#2> flock: invalid as start offset: '0b1K': Invalid argument
#2> flock: invalid as start offset: '0x1_0': Invalid argument
#2> flock: invalid as start offset: '0x1p3': Invalid argument
#2> flock: invalid as start offset: '.5K': Invalid argument
#2> flock: invalid as start offset: '0x0x1K': Invalid argument
#2> flock: invalid as start offset: 'ɐɐɐK': Invalid argument

### fcntl-hexadecimal-with-a-suffix
# starts: --start and --length
# derived: fallocate(1) reads sizes by the same function
# needs: proc locks
for s in 0x1K 0X1EKiB 0xEKB; do flock --start "$s" f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'; done
# script: cc75d6ce128f
#> 1024 EOF
#> 30720 EOF
#> 14000 EOF

### fcntl-length-bad
for s in 0 -1 abc '' 16E 7E; do flock --length "$s" f true; echo "[$s] $?"; done
# script: 003dffb9e311
#> [0] 0
#> [-1] 64
#> [abc] 64
#> [] 64
#> [16E] 64
#> [7E] 0
#2> flock: invalid as length of lock range: '-1': Invalid argument
#2> flock: invalid as length of lock range: 'abc': Invalid argument
#2> flock: invalid as length of lock range: '': Invalid argument
#2> flock: invalid as length of lock range: '16E': Numerical result out of range

### fcntl-start-overflow
flock --start 7E --length 7E f true; echo $?
# script: b7b564f1f70e
#> 65
#2> flock: f: Value too large for defined data type

### fcntl-vs-posix-python
# needs: python3
python_holds 'lockf(f, fcntl.LOCK_EX)'
flock --fcntl -n f echo no; echo $?
touch go
wait
# script: d8af607ca340
#> 1

### size-of-a-range
# starts: --start and --length
# needs: proc locks
for s in 1.K 1.5K 1.05K 0Z 7E; do flock --length $s f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'; done
flock --start 017 f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'
# script: a535427454b8
#> 0 1023
#> 0 1535
#> 0 1074
#> 0 EOF
#> 0 8070450532247928831
#> 15 EOF

### size-quarter
# starts: --start and --length
# needs: proc locks
flock --length 0.25K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'
# script: 0ba45edaf17e
#> 0 254
# differs: a fraction is ordinary arithmetic
#> 0 255

### size-one-Z
flock --length 1Z f true
# script: 816522624453
#2> flock: invalid as length of lock range: '1Z': Numerical result out of range
#= 64

### new-fcntl-open-flags-fd-number
# derived: the file is opened as without --fcntl, but write-only
# needs: proc
flock --fcntl f sh -c "readlink /proc/self/fd/3" | sed "s,.*/,,"
# script: c8fce4f2c669
#> f

### new-fcntl-makes-the-file
# derived: O_WRONLY|O_CREAT, mode 0666 less the umask
# needs: linux
umask 0
flock --fcntl f true; stat -c "%a %s" f
# script: e0617090dd34
#> 666 0

### new-fcntl-content-kept
# derived: O_WRONLY|O_CREAT|O_NOCTTY: no O_TRUNC
echo text >f
flock --fcntl f true
flock --fcntl -s f true
cat f
# script: 2e8f0a0fb45d
#> text

### new-fcntl-status
# derived: the command's status
flock --fcntl f sh -c "exit 6"; echo $?
# script: 8a892798db1a
#> 6

### new-fcntl-E
# derived: conflict with -n
hold --fcntl f
flock --fcntl -n -E 12 f echo in; echo $?
release
# script: ea0eacf4442a
#> 12

### new-fcntl-shared-twice-exclusive-not
# derived: shared and exclusive exclude each other
hold --fcntl -s f
hold --fcntl -s f
flock --fcntl -n f echo in; echo $?
release
# script: 83f52e9b6e91
#> 1

### new-fcntl-waits
# derived: a wait ends when the holder ends
hold --fcntl f
flock --fcntl f echo second &
await "waiting f"
echo first
release
wait
# script: 45bc7e98e8b7
#> first
#> second

### new-fcntl-kind-of-lock
# derived: F_OFD_SETLK: an OFDLCK over the whole file
# needs: locks
hold --fcntl f
locks_of f | tr -s " " | cut -d" " -f2-4,7-
release
# script: ae02a955a4a8
#> OFDLCK ADVISORY WRITE 0 EOF

### new-range-in-proc-locks
# starts: --start and --length
# derived: start and length of F_OFD_SETLK
# needs: locks
hold --start 1K --length 16 f
locks_of f | tr -s " " | cut -d" " -f2-4,7-
release
# script: ac71759c899f
#> OFDLCK ADVISORY WRITE 1024 1039

### new-start-implies-fcntl
# needs: linux
# starts: --start and --length
# derived: --start implies --fcntl, which is independent of flock(2)
hold f
flock -n --start 0 f echo in; echo $?
release
# script: 42d8aecc8ad9
#> in
#> 0

### new-length-implies-fcntl
# needs: linux
# starts: --start and --length
# derived: --length implies --fcntl, which is independent of flock(2)
hold f
flock -n --length 0 f echo in; echo $?
release
# script: ed1ba329c2c6
#> in
#> 0

### new-length-zero-is-to-the-end
# starts: --start and --length
# derived: length 0 is to the end of the file
hold --start 10 --length 0 f
flock -n --start 99999 --length 1 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release
# script: a44426271cca
#> 1
#> in
#> 0

### new-range-eq
# starts: --start and --length
# derived: --name=value
hold --start=10 --length=10 f
flock -n --start=20 --length=1 f echo in; echo $?
flock -n --start=19 --length=1 f echo in; echo $?
release
# script: 1d33af9b1084
#> in
#> 0
#> 1

### new-range-abbreviated
# starts: abbreviated options
# derived: unique abbreviations
hold --st 10 --l 10 f
flock -n --sta 20 --len 1 f echo in; echo $?
flock -n --sta 19 --leng 1 f echo in; echo $?
release
# script: d99a500a4827
#> in
#> 0
#> 1

### new-range-shared
# starts: --start and --length
# derived: shared and exclusive exclude each other
hold -s --length 10 f
flock -ns --length 10 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release
# script: d45ad9d851fe
#> in
#> 0
#> 1

### new-range-queue
# starts: --start and --length
# derived: ranges that overlap wait, others do not
hold --length 1 f
flock --length 2 f echo second &
await "waiting f"
flock -n --start 2 f echo other
echo first
release
wait
# script: e241004740c5
#> other
#> first
#> second

### new-suffix-and-prefix
# starts: --start and --length
# derived: K and KiB are 1024, KB is 1000; fractions with a suffix; hexadecimal and octal by prefix
held_at() { # HELD TRIED...
	hold --start $1 --length 1 f
	for start in "${@:2}"; do flock -n --start $start --length 1 f echo in; echo $?; done
	release
}
held_at 1K 1024 1000
held_at 1KB 1000 1024
held_at 1KiB 1024
held_at 1M 1048576
held_at 1.5K 1536 1535
held_at 0x10 16 10
held_at 010 8 10
# script: c59903037aaa
#> 1
#> in
#> 0
#> 1
#> in
#> 0
#> 1
#> 1
#> 1
#> in
#> 0
#> 1
#> in
#> 0
#> 1
#> in
#> 0

### new-fcntl-python-lockf-waits-for-ours
# derived: F_OFD_SETLK and F_SETLK exclude each other
# needs: python3
hold --fcntl f
python3 -c "import fcntl
f = open('f', 'r+')
try:
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print('in')
except OSError as e:
    print(e.strerror)"
release
# script: cb7892e5f9a7
#> Resource temporarily unavailable

### new-fcntl-python-range
# starts: --start and --length
# derived: F_OFD_SETLK and F_SETLK exclude each other, byte by byte
# needs: python3
python_holds 'lockf(f, fcntl.LOCK_EX, 10, 100)'
flock -n --start 90 --length 10 f echo before; echo $?
flock -n --start 100 --length 1 f echo first; echo $?
flock -n --start 109 --length 1 f echo last; echo $?
flock -n --start 110 f echo after; echo $?
announce go
wait
# script: 5bb4c2e8a476
#> before
#> 0
#> 1
#> 1
#> after
#> 0

### new-fcntl-killed-with-its-command
# derived: the kernel releases when the holder dies
flock --fcntl -F f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e held ]'
flock --fcntl -n f echo in; echo $?
{ kill -KILL $!; wait $!; } 2>/dev/null
await 'flock --fcntl -n f true'
echo free
# script: bb3615de85c9
#> 1
#> free

### new-fcntl-survives-a-killed-flock
# derived: an open file description lock lives as long as the description
flock --fcntl f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done; echo >done' &
await '[ -e held ]'
{ kill -KILL $!; wait $!; } 2>/dev/null
flock --fcntl -n f echo in; echo $?
announce go
await '[ -e done ]'
await 'flock --fcntl -n f true'
echo free
# script: a831464644de
#> 1
#> free

### new-fcntl-o
# derived: --close: flock keeps the lock, the command has no descriptor
# needs: proc
flock --fcntl -o f sh -c 'test -e /proc/self/fd/3; echo $?; flock --fcntl -n f echo in; echo $?'
# script: 04820d911504
#> 1
#> 1

### new-fcntl-missing-directory
# derived: 66: missing directory
flock --fcntl no/f true; echo $?
# script: 56a06dc1599a
#> 66
#2> flock: cannot open lock file no/f: No such file or directory

### new-fcntl-write-only-file
# derived: exclusive opens write-only, shared read-only
# needs: root setpriv
umask 0
flock --fcntl f true
chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl f echo in; echo $?
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl -s f echo in; echo $?
# script: c90a3f9a784c
#> 66
#> in
#> 0
#2> flock: cannot open lock file f: Permission denied

### new-fcntl-verbose
# derived: texts of --verbose
hold --fcntl f
flock --verbose --fcntl -n f echo no; echo $?
release
# script: 574488756618
#> 1
#2> flock: failed to get lock

### new-fcntl-fd-unlock
# derived: one lock per open file description
exec 8<>f 9<>f
flock --fcntl 9
flock --fcntl -n 8; echo $?
flock --fcntl -u 9
flock --fcntl -n 8; echo $?
# script: 2ac39dee58f5
#> 1
#> 0

### new-fcntl-fd-convert
# derived: a lock replaces the earlier lock of the same open file description
exec 8<>f 9<>f
flock --fcntl -s 9
flock --fcntl -s 8; echo $?
flock --fcntl -n 9; echo $?
flock --fcntl -u 8
flock --fcntl -n 9; echo $?
flock --fcntl -ns 8; echo $?
flock --fcntl -s 9
flock --fcntl -ns 8; echo $?
# script: 45f7ab4564c2
#> 0
#> 1
#> 0
#> 1
#> 0

### new-fcntl-unlock-part
# starts: --start and --length
# derived: a lock can be split
exec 8<>f 9<>f
flock --fcntl 9
flock -u --start 10 --length 10 9
flock -n --start 10 --length 10 8; echo $?
flock -n --start 9 --length 1 8; echo $?
flock -n --start 20 --length 1 8; echo $?
# script: e39fea0309be
#> 0
#> 1
#> 1

### new-fcntl-directory-read-only
# derived: access(2) checks whether the file may be written before it is opened again: EROFS
# needs: root mount
unshare -m sh -c 'mkdir m; mount -t tmpfs -o ro none m; flock --fcntl m echo hi; echo $?; flock --fcntl -s m echo hi; echo $?'
# script: 4bfc2eebbca1
#> 65
#> hi
#> 0
#2> flock: m: Read-only file system

### new-fcntl-directory-not-mine
# derived: access(2) checks whether the file may be written before it is opened again: EACCES
# needs: root setpriv
mkdir -m 755 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl d echo hi; echo $?
# script: 53425877f627
#> 65
#2> flock: d: Permission denied

### new-fcntl-lock-stays-whole-without-proc
# derived: flock(2) and fcntl(2) locks are independent
# needs: root mount proc linux locks
hidden() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
exec 9<>f
hidden flock --fcntl 9; echo $?
hidden flock -u 9; echo $?
hidden flock 9; echo $?
grep OFDLCK /proc/self/fdinfo/9 | cut -d' ' -f8-
hidden flock --fcntl -u 9; echo $?
grep -c OFDLCK /proc/self/fdinfo/9
# script: 51940a827972
#> 0
#> 0
#> 0
#> 0 EOF
#> 0
#> 0
#= 1

### new-close-standard-error
# derived: flock -o --fd 2 nonexistent: status 69 and no message
exec 2>err
flock --verbose -o --fd 2 nothing >/dev/null; echo $?
cat err
flock --verbose --fcntl -o f nothing >/dev/null 2>&-; echo $?
cat f
# script: 9459bb291840
#> 69
#> 69
# differs: flock reports that the command cannot be executed, not the child
#> 69
#> flock: failed to execute nothing: No such file or directory
#> 69
