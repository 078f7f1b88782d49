Messages of util-linux 2.43 that older releases word differently, and options that they do not know.

### new-unknown-short-first-in-cluster
# since: 2.43
# differs: 2.43 names the word before the cluster, which is not wrong
flock -zn f true

### new-unknown-digit
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock -5 f true

### new-unknown-short-after-good
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock -n -z f true

### new-unknown-long-after-good
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock -n --zap f true

### new-unknown-long-empty-value
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --bogus= f true

### new-ambiguous-s
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --s f true

### new-ambiguous-f
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --f f true

### new-ambiguous-v
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --v

### new-ambiguous-ve
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --ve f true

### new-ambiguous-with-value
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --c=3 f true

### new-value-for-exclusive
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --exclusive=1 f true

### new-value-for-nonblocking
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --nonblocking=yes f true

### new-value-for-nb
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --nb= f true

### new-value-for-abbreviation
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --sh=1 f true

### new-value-for-fcntl
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --fcntl=1 f true

### new-value-for-help
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --help=me

### new-value-for-version
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --version=2

### new-value-for-close
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --close=3 f true

### new-value-for-verbose
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --verbose=1 f true

### new-command-is-no-long-option
# since: 2.43
# derived: the same message for every unknown, ambiguous or misused option
flock --comm "echo hi" f

### new-missing-E
# since: 2.43
# derived: the same message for every missing value
flock -E

### new-missing-E-in-cluster
# since: 2.43
# derived: the same message for every missing value
flock -xnE

### new-missing-conflict
# since: 2.43
# derived: the same message for every missing value
flock --conflict-exit-code

### new-missing-wait
# since: 2.43
# derived: the same message for every missing value
flock --wait

### new-missing-start
# since: 2.43
# derived: the same message for every missing value
flock --start

### new-missing-length
# since: 2.43
# derived: the same message for every missing value
flock --length

### new-missing-start-abbrev
# since: 2.43
# derived: the same message for every missing value
flock --st

### new-timeout-two-numbers
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '1 2' f true

### new-timeout-x
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w 'x' f true

### new-timeout-0x
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '0xg' f true

### new-timeout-dot
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '.' f true

### new-timeout-sign
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '-' f true

### new-timeout-dashes
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '--' f true

### new-timeout-blank
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w ' ' f true

### new-timeout-trailing-blank
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '1 ' f true

### new-timeout-e
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '1e' f true

### new-timeout-newline-free
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock -w '1:2' f true

### new-timeout-long-abc
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock --timeout=abc f true

### new-timeout-wait-abc
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock --wait=abc f true

### new-timeout-long-empty
# since: 2.43
# derived: any text after the number is an error: invalid timeout
flock --timeout= f true

### new-E-empty
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '' f true

### new-E-trailing-blank
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '5 ' f true

### new-E-hex
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '0x5' f true

### new-E-fraction
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '1.5' f true

### new-E-sign
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '+' f true

### new-E-minus-huge
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '-99999999999999999999' f true

### new-E-just-past-int
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '2147483648' f true

### new-E-word
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E 'one' f true

### new-E-long-256
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock --conflict-exit-code=256 f true

### new-fd-hex
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '0x9'

### new-fd-fraction
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9.0'

### new-fd-empty
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- ''

### new-fd-letters
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9x'

### new-fd-sign
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '+'

### new-fd-just-past-long
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9223372036854775808'

### new-fd-2147483647
# since: 2.43
# derived: a descriptor that is not open: Bad file descriptor, 65
flock 2147483647

### new-fdopt-abc
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock --fd abc true

### new-fdopt-empty
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock --fd '' true

### new-fdopt-huge
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock --fd 99999999999 true

### new-fdopt-trailing
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock --fd '9 ' true

### new-fdopt-blank
# since: 2.43
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
exec 9<>f
flock --fd ' 9' echo hi

### new-fdopt-eq
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd=9 echo hi
flock -n f echo in; echo $?

### new-fdopt-first-word-is-the-command
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 f echo hi; echo $?
ls

### new-fdopt-command
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 --command "echo hi"; echo $?

### new-fdopt-c-missing
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 -c; echo $?

### new-fdopt-status
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 sh -c "exit 41"; echo $?

### new-fdopt-killed
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 sh -c "kill -TERM \$\$"; echo $?

### new-fdopt-n-E
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
# needs: reflock
# kernel: the holder is another program, which uses kernel locks
rehold f
exec 9<>f
flock -n -E 8 --fd 9 echo no; echo $?
release

### new-fdopt-w
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
hold f
exec 9<>f
flock -w .05 --fd 9 echo no; echo $?
release

### new-fdopt-shared
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
hold -s f
exec 9<>f
flock -n -s --fd 9 echo in; echo $?
release

### new-fdopt-last-wins
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>e 9<>f
flock --fd 8 --fd 9 echo hi
flock -n e echo e; flock -n f echo f

### new-fdopt-not-found
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 nothing-here; echo $?

### new-fdopt-no-fork
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock -F --fd 9 sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?

### new-fdopt-inherited
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
# needs: proc
exec 9<>f
flock --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"

### new-fdopt-o-closed-in-the-command-only
# since: 2.43
# derived: the descriptor stays locked after the command, --close closes it in the command only
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"
test -e /proc/self/fd/9; echo $?
flock -n f echo in; echo $?

### new-fdopt-waits
# since: 2.43
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>f 9<>f
flock 8
flock --fd 9 echo second &
await "waiting f"
echo first
flock -u 8
wait

### new-fcntl-open-flags-fd-number
# since: 2.43
# derived: the file is opened as without --fcntl, but write-only
# needs: proc
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl f sh -c "readlink /proc/self/fd/3" | sed "s,.*/,,"

### new-fcntl-makes-the-file
# since: 2.43
# derived: O_WRONLY|O_CREAT, mode 0666 less the umask
# needs: linux
# kernel: only the kernel has fcntl(2) locks and byte ranges
umask 0
flock --fcntl f true; stat -c "%a %s" f

### new-fcntl-content-kept
# since: 2.43
# derived: O_WRONLY|O_CREAT|O_NOCTTY: no O_TRUNC
# kernel: only the kernel has fcntl(2) locks and byte ranges
echo text >f
flock --fcntl f true
flock --fcntl -s f true
cat f

### new-fcntl-status
# since: 2.43
# derived: the command's status
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl f sh -c "exit 6"; echo $?

### new-fcntl-E
# since: 2.43
# derived: conflict with -n
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock --fcntl -n -E 12 f echo in; echo $?
release

### new-fcntl-shared-twice-exclusive-not
# since: 2.43
# derived: shared and exclusive exclude each other
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl -s f
hold --fcntl -s f
flock --fcntl -n f echo in; echo $?
release

### new-fcntl-waits
# since: 2.43
# derived: a wait ends when the holder ends
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock --fcntl f echo second &
await "waiting f"
echo first
release
wait

### new-fcntl-kind-of-lock
# since: 2.43
# derived: F_OFD_SETLK: an OFDLCK over the whole file
# needs: locks
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
grep ":$(stat -c %i f) " /proc/locks | tr -s " " | cut -d" " -f2-4,7-
release

### new-range-in-proc-locks
# since: 2.43
# derived: start and length of F_OFD_SETLK
# needs: locks
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1K --length 16 f
grep ":$(stat -c %i f) " /proc/locks | tr -s " " | cut -d" " -f2-4,7-
release

### new-start-implies-fcntl
# since: 2.43
# derived: --start implies --fcntl, which is independent of flock(2)
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold f
flock -n --start 0 f echo in; echo $?
release

### new-length-implies-fcntl
# since: 2.43
# derived: --length implies --fcntl, which is independent of flock(2)
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold f
flock -n --length 0 f echo in; echo $?
release

### new-length-zero-is-to-the-end
# since: 2.43
# derived: length 0 is to the end of the file
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 10 --length 0 f
flock -n --start 99999 --length 1 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release

### new-range-eq
# since: 2.43
# derived: --name=value
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start=10 --length=10 f
flock -n --start=20 --length=1 f echo in; echo $?
flock -n --start=19 --length=1 f echo in; echo $?
release

### new-range-abbreviated
# since: 2.43
# derived: unique abbreviations
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --st 10 --l 10 f
flock -n --sta 20 --len 1 f echo in; echo $?
flock -n --sta 19 --leng 1 f echo in; echo $?
release

### new-range-shared
# since: 2.43
# derived: shared and exclusive exclude each other
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold -s --length 10 f
flock -ns --length 10 f echo in; echo $?
flock -n --length 10 f echo in; echo $?
release

### new-range-queue
# since: 2.43
# derived: ranges that overlap wait, others do not
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --length 1 f
flock --length 2 f echo second &
await "waiting f"
flock -n --start 2 f echo other
echo first
release
wait

### new-suffix-means-1024
# since: 2.43
# derived: powers of 1024
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1K --length 1 f
flock -n --start 1024 --length 1 f echo in; echo $?
flock -n --start 1000 --length 1 f echo in; echo $?
release

### new-suffix-KB-means-1000
# since: 2.43
# derived: KB is 1000
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1KB --length 1 f
flock -n --start 1000 --length 1 f echo in; echo $?
flock -n --start 1024 --length 1 f echo in; echo $?
release

### new-suffix-KiB-means-1024
# since: 2.43
# derived: KiB is 1024
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1KiB --length 1 f
flock -n --start 1024 --length 1 f echo in; echo $?
release

### new-suffix-M
# since: 2.43
# derived: powers of 1024
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1M --length 1 f
flock -n --start 1048576 --length 1 f echo in; echo $?
release

### new-suffix-fraction
# since: 2.43
# derived: fractions with a suffix
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 1.5K --length 1 f
flock -n --start 1536 --length 1 f echo in; echo $?
flock -n --start 1535 --length 1 f echo in; echo $?
release

### new-start-hexadecimal
# since: 2.43
# derived: hexadecimal by prefix
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 0x10 --length 1 f
flock -n --start 16 --length 1 f echo in; echo $?
flock -n --start 10 --length 1 f echo in; echo $?
release

### new-start-octal
# since: 2.43
# derived: octal by prefix
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 010 --length 1 f
flock -n --start 8 --length 1 f echo in; echo $?
flock -n --start 10 --length 1 f echo in; echo $?
release

### new-fcntl-python-lockf-waits-for-ours
# since: 2.43
# derived: F_OFD_SETLK and F_SETLK exclude each other
# needs: python3
# kernel: only the kernel has fcntl(2) locks and byte ranges
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
# since: 2.43
# derived: F_OFD_SETLK and F_SETLK exclude each other, byte by byte
# needs: python3
# kernel: only the kernel has fcntl(2) locks and byte ranges
python3 -c "import fcntl, os, time
f = open('f', 'w')
fcntl.lockf(f, fcntl.LOCK_EX, 10, 100)
open('held', 'w')
while not os.path.exists('go'): time.sleep(.01)" &
await '[ -e held ]'
flock -n --start 90 --length 10 f echo before; echo $?
flock -n --start 100 --length 1 f echo first; echo $?
flock -n --start 109 --length 1 f echo last; echo $?
flock -n --start 110 f echo after; echo $?
echo >go
wait

### new-fcntl-killed-with-its-command
# since: 2.43
# derived: the kernel releases when the holder dies
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl -F f sh -c 'echo >held; until [ -e go ]; do sleep .01; done' &
await '[ -e held ]'
flock --fcntl -n f echo in; echo $?
{ kill -KILL $!; wait $!; } 2>/dev/null
await 'flock --fcntl -n f true'
echo free

### new-fcntl-survives-a-killed-flock
# since: 2.43
# derived: an open file description lock lives as long as the description
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl f sh -c 'echo >held; until [ -e go ]; do sleep .01; done; echo >done' &
await '[ -e held ]'
{ kill -KILL $!; wait $!; } 2>/dev/null
flock --fcntl -n f echo in; echo $?
echo >go
await '[ -e done ]'
await 'flock --fcntl -n f true'
echo free

### new-fcntl-o
# since: 2.43
# derived: --close: flock keeps the lock, the command has no descriptor
# needs: proc
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl -o f sh -c 'test -e /proc/self/fd/3; echo $?; flock --fcntl -n f echo in; echo $?'

### new-fcntl-missing-directory
# since: 2.43
# derived: 66: missing directory
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl no/f true; echo $?

### new-fcntl-write-only-file
# since: 2.43
# derived: exclusive opens write-only, shared read-only
# needs: root setpriv
# kernel: only the kernel has fcntl(2) locks and byte ranges
umask 0
flock --fcntl f true
chmod 444 f
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl f echo in; echo $?
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl -s f echo in; echo $?

### new-fcntl-verbose
# since: 2.43
# derived: texts of --verbose
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock --verbose --fcntl -n f echo no; echo $?
release

### new-fcntl-fd-unlock
# since: 2.43
# derived: one lock per open file description
# kernel: only the kernel has fcntl(2) locks and byte ranges
exec 8<>f 9<>f
flock --fcntl 9
flock --fcntl -n 8; echo $?
flock --fcntl -u 9
flock --fcntl -n 8; echo $?

### new-fcntl-fd-convert
# since: 2.43
# derived: a lock replaces the earlier lock of the same open file description
# kernel: only the kernel has fcntl(2) locks and byte ranges
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
# since: 2.43
# derived: a lock can be split
# kernel: only the kernel has fcntl(2) locks and byte ranges
exec 8<>f 9<>f
flock --fcntl 9
flock -u --start 10 --length 10 9
flock -n --start 10 --length 10 8; echo $?
flock -n --start 9 --length 1 8; echo $?
flock -n --start 20 --length 1 8; echo $?

### new-start-bad-value-names-itself
# since: 2.43
# derived: the message is: invalid as start offset
flock --start -5 f true; echo $?
flock --start=1x f true; echo $?

### new-length-bad-value-names-itself
# since: 2.43
# derived: the message is: invalid as length of lock range
flock --length 1x f true; echo $?
flock --length=K f true; echo $?

### new-fcntl-directory-read-only
# since: 2.43
# derived: access(2) checks whether the file may be written before it is opened again: EROFS
# needs: root mount
# kernel: only the kernel has fcntl(2) locks and byte ranges
unshare -m sh -c 'mkdir m; mount -t tmpfs -o ro none m; flock --fcntl m echo hi; echo $?; flock --fcntl -s m echo hi; echo $?'

### new-fcntl-directory-not-mine
# since: 2.43
# derived: access(2) checks whether the file may be written before it is opened again: EACCES
# needs: root setpriv
# kernel: only the kernel has fcntl(2) locks and byte ranges
mkdir -m 755 d
setpriv --reuid 65534 --regid 65534 --clear-groups flock --fcntl d echo hi; echo $?

### new-fcntl-lock-stays-whole-without-proc
# since: 2.43
# derived: flock(2) and fcntl(2) locks are independent
# needs: root mount proc linux
# kernel: only the kernel has fcntl(2) locks and byte ranges
hidden() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
exec 9<>f
hidden flock --fcntl 9; echo $?
hidden flock -u 9; echo $?
hidden flock 9; echo $?
grep OFDLCK /proc/self/fdinfo/9 | cut -d' ' -f8-
hidden flock --fcntl -u 9; echo $?
grep -c OFDLCK /proc/self/fdinfo/9

### new-close-standard-error
# since: 2.43
# derived: flock -o --fd 2 nonexistent: status 69 and no message
# kernel: fcntl(2) locks and byte ranges are the kernel's
exec 2>err
flock --verbose -o --fd 2 nothing >/dev/null; echo $?
cat err
flock --verbose --fcntl -o f nothing >/dev/null 2>&-; echo $?
cat f
