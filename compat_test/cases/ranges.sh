--fcntl, --start and --length: locks of fcntl(2), of the whole file or of a range of bytes.

# since: 2.43
# needs: ofd
# kernel: only the kernel has fcntl(2) locks and byte ranges

### fcntl-basic
flock --fcntl f echo ok

### fcntl-conflict
hold --fcntl f
flock --fcntl -n f echo no; echo $?
release

### fcntl-shared
hold --fcntl -s f
flock --fcntl -n -s f echo yes; flock --fcntl -n f echo no; echo $?
release

### fcntl-vs-flock
# needs: linux
hold --fcntl f
flock -n f echo independent; echo $?
release

### fcntl-w-verbose
hold --fcntl f
flock --verbose --fcntl -w .1 f echo no; echo $?
release

### fcntl-fd-ro-ex
# differs: a second line says what to do
# needs: linux
touch f; exec 9<f; flock --fcntl 9; echo $?

### fcntl-fd-wo-sh
# differs: a second line says what to do
exec 9>f
flock --fcntl -s 9; echo $?

### fcntl-fd-rw
exec 9<>f
flock --fcntl 9; echo $?
flock --fcntl -n f echo no; echo $?
flock --fcntl -u 9; flock --fcntl -n f echo yes

### fcntl-dir-ex
# differs: a second line says what to do
# needs: linux
mkdir d; flock --fcntl d echo ok

### fcntl-dir-sh
mkdir d; flock --fcntl -s d echo ok

### fcntl-open-flags
# needs: proc
flock --fcntl f sh -c 'grep flags /proc/self/fdinfo/3'

### fcntl-open-flags-s
# needs: proc
flock --fcntl -s f sh -c 'grep flags /proc/self/fdinfo/3'

### fcntl-range-disjoint
# starts: --start and --length
hold --start 0 --length 10 f
flock -n --start 10 --length 5 f echo yes; echo $?
release

### fcntl-range-overlap
# starts: --start and --length
hold --start 0 --length 10 f
flock -n --start 9 --length 5 f echo no; echo $?
release

### fcntl-length-only
# starts: --start and --length
hold --length 10 f
flock -n --start 10 f echo yes; echo $?
flock -n --start 9 f echo no; echo $?
release

### fcntl-suffixes
for s in 1 1K 1k 1KiB 1KB 1kB 1M 1MiB 1G 1T 1P 1E 1.5K 0x10 010 1Z 1Y 1Q 1b 1B ' 1' '1 ' -1 '' abc 1KiBB 99999999999999999999; do flock --start "$s" f true; echo "[$s] $?"; done

### fcntl-numbers-of-other-languages
# derived: fallocate(1) reads sizes by the same function
for s in 1_000 1_0K 0_7 0o17 0b11 0b1K 0x1_0 0x1p3 .5K 0x0x1K ɐɐɐK; do flock --start "$s" f true; echo "[$s] $?"; done

### fcntl-hexadecimal-with-a-suffix
# starts: --start and --length
# derived: fallocate(1) reads sizes by the same function
# needs: proc locks
for s in 0x1K 0X1EKiB 0xEKB; do flock --start "$s" f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'; done

### fcntl-length-bad
for s in 0 -1 abc '' 16E 7E; do flock --length "$s" f true; echo "[$s] $?"; done

### fcntl-start-overflow
flock --start 7E --length 7E f true; echo $?

### fcntl-vs-posix-python
# needs: python3
python_holds 'lockf(f, fcntl.LOCK_EX)'
flock --fcntl -n f echo no; echo $?
touch go
wait

### size-of-a-range
# starts: --start and --length
# needs: proc locks
for s in 1.K 1.5K 1.05K 0Z 7E; do flock --length $s f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'; done
flock --start 017 f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-quarter
# starts: --start and --length
# needs: proc locks
# differs: a fraction is ordinary arithmetic
flock --length 0.25K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-one-Z
flock --length 1Z f true

### new-fcntl-open-flags-fd-number
# derived: the file is opened as without --fcntl, but write-only
# needs: proc
flock --fcntl f sh -c "readlink /proc/self/fd/3" | sed "s,.*/,,"

### new-fcntl-makes-the-file
# derived: O_WRONLY|O_CREAT, mode 0666 less the umask
# needs: linux
umask 0
flock --fcntl f true; stat -c "%a %s" f

### new-fcntl-content-kept
# derived: O_WRONLY|O_CREAT|O_NOCTTY: no O_TRUNC
echo text >f
flock --fcntl f true
flock --fcntl -s f true
cat f

### new-fcntl-status
# derived: the command's status
flock --fcntl f sh -c "exit 6"; echo $?

### new-fcntl-E
# derived: conflict with -n
hold --fcntl f
flock --fcntl -n -E 12 f echo in; echo $?
release

### new-fcntl-shared-twice-exclusive-not
# derived: shared and exclusive exclude each other
hold --fcntl -s f
hold --fcntl -s f
flock --fcntl -n f echo in; echo $?
release

### new-fcntl-waits
# derived: a wait ends when the holder ends
hold --fcntl f
flock --fcntl f echo second &
await "waiting f"
echo first
release
wait

### new-fcntl-kind-of-lock
# derived: F_OFD_SETLK: an OFDLCK over the whole file
# needs: locks
hold --fcntl f
locks_of f | tr -s " " | cut -d" " -f2-4,7-
release

### new-range-in-proc-locks
# starts: --start and --length
# derived: start and length of F_OFD_SETLK
# needs: locks
hold --start 1K --length 16 f
locks_of f | tr -s " " | cut -d" " -f2-4,7-
release

### new-start-implies-fcntl
# needs: linux
# starts: --start and --length
# derived: --start implies --fcntl, which is independent of flock(2)
hold f
flock -n --start 0 f echo in; echo $?
release

### new-length-implies-fcntl
# needs: linux
# starts: --start and --length
# derived: --length implies --fcntl, which is independent of flock(2)
hold f
flock -n --length 0 f echo in; echo $?
release

### new-length-zero-is-to-the-end
# starts: --start and --length
# derived: length 0 is to the end of the file
hold --start 10 --length 0 f
flock -n --start 99999 --length 1 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release

### new-range-eq
# starts: --start and --length
# derived: --name=value
hold --start=10 --length=10 f
flock -n --start=20 --length=1 f echo in; echo $?
flock -n --start=19 --length=1 f echo in; echo $?
release

### new-range-abbreviated
# starts: abbreviated options
# derived: unique abbreviations
hold --st 10 --l 10 f
flock -n --sta 20 --len 1 f echo in; echo $?
flock -n --sta 19 --leng 1 f echo in; echo $?
release

### new-range-shared
# starts: --start and --length
# derived: shared and exclusive exclude each other
hold -s --length 10 f
flock -ns --length 10 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release

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

### new-fcntl-killed-with-its-command
# derived: the kernel releases when the holder dies
flock --fcntl -F f sh -c 'echo >held; until [ -e go ]; do read _ <../wake.go || exit; done' &
await '[ -e held ]'
flock --fcntl -n f echo in; echo $?
{ kill -KILL $!; wait $!; } 2>/dev/null
await 'flock --fcntl -n f true'
echo free

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

### new-fcntl-o
# derived: --close: flock keeps the lock, the command has no descriptor
# needs: proc
flock --fcntl -o f sh -c 'test -e /proc/self/fd/3; echo $?; flock --fcntl -n f echo in; echo $?'

### new-fcntl-missing-directory
# derived: 66: missing directory
flock --fcntl no/f true; echo $?

### new-fcntl-write-only-file
# derived: exclusive opens write-only, shared read-only
# needs: root setpriv
umask 0
flock --fcntl f true
chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl f echo in; echo $?
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl -s f echo in; echo $?

### new-fcntl-verbose
# derived: texts of --verbose
hold --fcntl f
flock --verbose --fcntl -n f echo no; echo $?
release

### new-fcntl-fd-unlock
# derived: one lock per open file description
exec 8<>f 9<>f
flock --fcntl 9
flock --fcntl -n 8; echo $?
flock --fcntl -u 9
flock --fcntl -n 8; echo $?

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

### new-fcntl-unlock-part
# starts: --start and --length
# derived: a lock can be split
exec 8<>f 9<>f
flock --fcntl 9
flock -u --start 10 --length 10 9
flock -n --start 10 --length 10 8; echo $?
flock -n --start 9 --length 1 8; echo $?
flock -n --start 20 --length 1 8; echo $?

### new-fcntl-directory-read-only
# derived: access(2) checks whether the file may be written before it is opened again: EROFS
# needs: root mount
unshare -m sh -c 'mkdir m; mount -t tmpfs -o ro none m; flock --fcntl m echo hi; echo $?; flock --fcntl -s m echo hi; echo $?'

### new-fcntl-directory-not-mine
# derived: access(2) checks whether the file may be written before it is opened again: EACCES
# needs: root setpriv
mkdir -m 755 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl d echo hi; echo $?

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

### new-close-standard-error
# derived: flock -o --fd 2 nonexistent: status 69 and no message
# differs: flock reports that the command cannot be executed, not the child
exec 2>err
flock --verbose -o --fd 2 nothing >/dev/null; echo $?
cat err
flock --verbose --fcntl -o f nothing >/dev/null 2>&-; echo $?
cat f
