For all of these there are transcripts of util-linux 2.43. Cases without "since" also run under the installed release.

### noargs
flock

### only-file
# since: 2.43
flock f

### only-dashdash
# since: 2.43
flock --

### unknown-short
# since: 2.43
flock -z f true

### unknown-short-cluster
# since: 2.43
flock -nz f true

### unknown-long
flock --bogus f true

### unknown-long-eq
flock --bogus=3 f true

### missing-w
# since: 2.43
flock -w

### missing-w-cluster
# since: 2.43
flock -nw

### missing-timeout
flock --timeout

### missing-timeout-abbrev
# since: 2.43
flock --tim

### w-abc
# since: 2.43
flock -w abc f true

### w-empty
# since: 2.43
flock -w '' f true

### w-comma
# since: 2.43
flock -w 1,5 f true

### w-suffix
# since: 2.43
flock -w 1s f true

### w-attached-n
# since: 2.43
flock -w1n f true

### E-256
# since: 2.43
flock -E 256 f true

### E-neg
# since: 2.43
flock -E -1 f true

### E-abc
# since: 2.43
flock -E abc f true

### E-huge
# since: 2.43
flock -E 99999999999999999999 f true

### c-noarg
flock f -c

### c-two
flock f -c a b

### c-before-file
# since: 2.43
flock -c 'echo hi'

### c-before-file2
# since: 2.43
# differs: it also prints where to write -c
flock -c 'echo hi' f

### nc-cluster
# since: 2.43
flock -nc 'echo hi'

### abbrev-n
# since: 2.43
flock --n f true

### abbrev-no
# since: 2.43
flock --no f true

### abbrev-c
# since: 2.43
flock --c f true

### abbrev-co
# since: 2.43
flock --co f true

### abbrev-ver
# since: 2.43
flock --ver f true

### abbrev-verb
# unordered: 2.43 can print the two lines in either order
flock --verb f true

### flag-eq
# since: 2.43
flock --shared=1 f true

### fd-abc
# since: 2.43
flock abc

### fd-neg
# since: 2.43
flock -- -1

### fd-huge
# since: 2.43
flock 99999999999

### fd-2147483648
# since: 2.43
flock 2147483648

### fd-trail
# since: 2.43
exec 9>f
flock '9 '

### F-o
flock -F -o f true

### fcntl-basic
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl f echo ok

### fcntl-conflict
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock --fcntl -n f echo no; echo $?
release

### fcntl-shared
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl -s f
flock --fcntl -n -s f echo yes; flock --fcntl -n f echo no; echo $?
release

### fcntl-vs-flock
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock -n f echo independent; echo $?
release

### fcntl-w-verbose
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --fcntl f
flock --verbose --fcntl -w .1 f echo no; echo $?
release

### fcntl-fd-ro-ex
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
touch f; exec 9<f; flock --fcntl 9; echo $?

### fcntl-fd-wo-sh
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
exec 9>f
flock --fcntl -s 9; echo $?

### fcntl-fd-rw
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
exec 9<>f
flock --fcntl 9; echo $?
flock --fcntl -n f echo no; echo $?
flock --fcntl -u 9; flock --fcntl -n f echo yes

### fcntl-dir-ex
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
mkdir d; flock --fcntl d echo ok

### fcntl-dir-sh
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
mkdir d; flock --fcntl -s d echo ok

### fcntl-open-flags
# since: 2.43
# needs: proc
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl f sh -c 'grep flags /proc/self/fdinfo/3'

### fcntl-open-flags-s
# since: 2.43
# needs: proc
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --fcntl -s f sh -c 'grep flags /proc/self/fdinfo/3'

### fcntl-range-disjoint
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 0 --length 10 f
flock -n --start 10 --length 5 f echo yes; echo $?
release

### fcntl-range-overlap
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --start 0 --length 10 f
flock -n --start 9 --length 5 f echo no; echo $?
release

### fcntl-length-only
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
hold --length 10 f
flock -n --start 10 f echo yes; echo $?
flock -n --start 9 f echo no; echo $?
release

### fcntl-suffixes
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
for s in 1 1K 1k 1KiB 1KB 1kB 1M 1MiB 1G 1T 1P 1E 1.5K .5K 0x10 010 1Z 1Y 1Q 1b 1B ' 1' '1 ' -1 '' abc 1KiBB 99999999999999999999; do flock --start "$s" f true; echo "[$s] $?"; done

### fcntl-length-bad
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
for s in 0 -1 abc '' 8E 9E 16E 7E; do flock --length "$s" f true; echo "[$s] $?"; done

### fcntl-start-overflow
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --start 7E --length 7E f true; echo $?

### fcntl-vs-posix-python
# since: 2.43
# needs: python3
# kernel: only the kernel has fcntl(2) locks and byte ranges
python3 -c "import fcntl,os,time
f = open('f', 'w')
fcntl.lockf(f, fcntl.LOCK_EX)
open('held', 'w')
while not os.path.exists('go'): time.sleep(.01)" &
await '[ -e held ]'
flock --fcntl -n f echo no; echo $?
touch go
wait

### fdopt-cmd
# since: 2.43
exec 9<>f
flock --fd 9 echo hi; flock -n f echo no; echo $?

### fdopt-c
# since: 2.43
exec 9<>f
flock --fd 9 -c 'echo hi $0'

### fdopt-missing-cmd
# since: 2.43
exec 9<>f
flock --fd 9

### fdopt-missing-arg
# since: 2.43
flock --fd

### fdopt-not-open
# since: 2.43
flock --fd 77 echo hi

### fdopt-neg
# since: 2.43
flock --fd -1 echo hi

### fdopt-c-two
# since: 2.43
exec 9<>f
flock --fd 9 -c a b

### fdopt-conflict
# since: 2.43
exec 8<>f 9<>f
flock 8; flock -n --fd 9 echo no; echo $?
flock -n -E 5 --fd 9 echo no; echo $?

### fdopt-o
# since: 2.43
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c 'ls /proc/self/fd | tr "\n" " "'

### fdopt-keeps-after
# since: 2.43
exec 9<>f
flock --fd 9 true; flock -n f echo no; echo $?

### fdopt-u
# since: 2.43
exec 9<>f
flock 9; flock -u --fd 9 echo hi; flock -n f echo free

### fdopt-verbose
# since: 2.43
# unordered: 2.43 can print the two lines in either order
exec 9<>f
flock --verbose --fd 9 true

### verbose-ok
# unordered: 2.43 can print the two lines in either order
flock --verbose f true

### verbose-n
hold f
flock --verbose -n f echo no; echo $?
release

### verbose-w
hold f
flock --verbose -w .1 f echo no; echo $?
release

### fdopt-c-then-option
# since: 2.43
flock --fd 9 -c -n 'echo hi' 9>f

### fdopt-c-then-dashdash
# since: 2.43
flock --fd 9 -c -- 'echo hi' 9>f

### fdopt-c-then-verbose
# since: 2.43
# unordered: 2.43 can print the two lines in either order
flock --fd 9 -c --verbose 'echo hi' 9>f

### c-after-file-then-option
# since: 2.43
flock f -c -n 'echo hi'

### c-after-file-then-dashdash
# since: 2.43
flock f -c -- 'echo hi'

### dashdash-then-c-is-a-file
# since: 2.43
flock -- -c 'echo hi'; ls

### fdopt-neg-alone
# since: 2.43
flock --fd -1

### fdopt-wraps-round
# since: 2.43
# differs: 2.43 stores it in 32 bits without a check of the range
flock --fd -4294967295 true

### unknown-short-before-x
# since: 2.43
# differs: 2.43 names the word before the cluster, which is not wrong
flock -n -zx f true

### unknown-c-in-a-cluster
# since: 2.43
# differs: 2.43 names the word before the cluster, which is not wrong
flock -cn f

### unknown-short-after-c
# since: 2.43
# derived: while a cluster is read, it takes the word before for the unknown option, here -c
# differs: 2.43 names the word before the cluster, which is not wrong
flock -c -1w1 f true

### E-neg-with-rest
# since: 2.43
flock -E -5x f true

### w-out-of-range
# since: 2.43
flock -w 1e5000 f true

### w-out-of-range-small
# since: 2.43
flock -w 1e-5000 f true

### w-exponent
# since: 2.43
flock -w 1e3 f true

### w-hexadecimal
# since: 2.43
flock -w 0x1 f true

### w-blank-before
# since: 2.43
flock -w ' 1' f true

### w-blank-behind
# since: 2.43
flock -w '1 ' f true

### w-no-exponent
# since: 2.43
flock -w 1e f true

### w-fraction
# since: 2.43
flock -w .5e0 f true

### size-hexadecimal-KB
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 0x10KB f sh -c 'cat /proc/self/fdinfo/3 | grep lock | sed "s/.* //;s/^/end /"'

### size-point-without-digits
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 1.K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-seven-tenths
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 0.7K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-quarter
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 0.25K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-one-and-a-half
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 1.5K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-one-and-a-twentieth
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 1.05K f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-zero-Z
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 0Z f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-three-tenths
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --start 0.3M f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-one-Z
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --length 1Z f true

### size-past-the-end
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --length 7.99E f true

### size-7E
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --length 7E f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'

### size-0o
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
flock --start 0o17 f true

### size-octal
# since: 2.43
# kernel: only the kernel has fcntl(2) locks and byte ranges
# needs: proc
flock --start 017 f sh -c 'grep lock /proc/self/fdinfo/3 | cut -d" " -f8-'
