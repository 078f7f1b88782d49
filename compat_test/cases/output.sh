What flock prints, where it prints it, and what it does when it cannot print.

### silent
flock f true
flock -n f true
flock -w 1 f true
#= 0

### silent-on-conflict
hold f
flock -n f true; echo $?
flock -w .05 f true; echo $?
release
#> 1
#> 1

### verbose-and-the-output-of-the-command
flock --verbose f echo hi
#> hi
#> flock: getting lock took N seconds
#> flock: executing echo

### verbose-on-a-terminal
# needs: script
script -qec 'flock --verbose f echo hi' /dev/null </dev/null | tr -d '\r'
#> flock: getting lock took N seconds
#> flock: executing echo
#> hi

### verbose-on-a-terminal-no-fork
# needs: script
script -qec 'flock -F --verbose f echo hi' /dev/null </dev/null | tr -d '\r'
#> flock: getting lock took N seconds
#> flock: executing echo
#> hi

### verbose-forms
for words in 'f true one two' '-n f true' '-w 5 f true' '-o f true' '-s f true' '--verbose f true' 'f -c true' \
	'f false' '/missing/f true'; do
	flock --verbose $words; echo $?
done
SHELL=$(command -v bash) flock --verbose f -c true
mkdir d; flock --verbose d true
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing true
#> 0
#> flock: getting lock took N seconds
#> flock: executing /bin/sh
#> 0
#> flock: getting lock took N seconds
#> flock: executing false
#> 1
#> 66
#> flock: getting lock took N seconds
#> flock: executing $BIN/bash
#> flock: getting lock took N seconds
#> flock: executing true
#2> flock: cannot open lock file /missing/f: No such file or directory

### verbose-no-fork
flock --verbose -F f true
#= 0
# differs: the lines are written at once; with --no-fork into a file or pipe the reference loses them
#> flock: getting lock took N seconds
#> flock: executing true

### verbose-descriptor
exec 9>f
flock --verbose 9; echo $?
flock --verbose -u 9; echo $?
#> flock: getting lock took N seconds
#> 0
#> flock: getting lock took N seconds
#> 0

### verbose-conflict
hold f
for words in -n '-w 0' '-n -w 5' '-w .05' '-n -E 4' '-w .05 -E 4'; do flock --verbose $words f echo no; echo $?; done
exec 9>f
flock --verbose -n 9; echo $?
flock --verbose -w .05 9; echo $?
release
#> 1
#> 1
#> 1
#> 1
#> 4
#> 4
#> 1
#> 1
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: failed to get lock
#2> flock: timeout while waiting to get lock
#2> flock: failed to get lock
#2> flock: timeout while waiting to get lock
#2> flock: failed to get lock
#2> flock: timeout while waiting to get lock

### verbose-order-on-one-stream
flock --verbose f sh -c 'echo out; echo err >&2' 2>&1
#> out
#> err
#> flock: getting lock took N seconds
#> flock: executing sh

### verbose-name-is-argv0
bash -c 'exec -a /x/lockit flock --verbose f true'
#> lockit: getting lock took N seconds
#> lockit: executing true

### verbose-duration-has-six-digits
# starts: --help, --version and --verbose write to standard output
# needs: python3
flock --verbose f true | python3 -c "import re, sys
print(bool(re.match(r'flock: getting lock took [0-9]+\.[0-9]{6} seconds\n', sys.stdin.read())))"
#> True

### verbose-duration-is-the-wait
# starts: --help, --version and --verbose write to standard output
hold f
flock --verbose f true >out &
await 'waiting f'
sleep .3
release
wait $!
sed -n 's/.*took \(.*\) seconds/\1/p' out | awk '{ print ($1 >= .25 && $1 < 25) }'
#> 1

### full-help
# needs: full
flock --help >/dev/full; echo $?
#> 1
#2> flock: write error: No space left on device

### full-version
# needs: full
flock --version >/dev/full; echo $?
#> 1
#2> flock: write error: No space left on device

### full-verbose
# needs: full
flock --verbose f true >/dev/full; echo $?
flock --verbose f sh -c 'exit 5' >/dev/full; echo $?
flock --verbose f touch ran >/dev/full; echo $?
ls
exec 9>f
flock --verbose 9 >/dev/full; echo $?
flock -n f echo in; echo $?
#> 1
#> 1
#> 1
#> f
#> ran
#> 1
#> 1
#2> flock: write error: No space left on device
#2> flock: write error: No space left on device
#2> flock: write error: No space left on device
#2> flock: write error: No space left on device

### full-verbose-no-fork
# starts: --help, --version and --verbose write to standard output
# needs: full
flock -F --verbose f touch ran >/dev/full; echo $?
ls
#> 0
#> f
#> ran

### full-nothing-to-write
# needs: full
flock f true >/dev/full; echo $?
flock f sh -c 'echo hi 2>/dev/null; exit 9' >/dev/full; echo $?
#> 0
#> 9

### full-stderr
# starts: the message is not in the output, or not all of it
# needs: full
flock f nothing-here 2>/dev/full; echo $?
flock --bogus 2>/dev/full; echo $?
#> 69
#> 1

### full-stderr-conflict
# starts: the message is not in the output, or not all of it
# needs: full
hold f
flock --verbose -n f true 2>/dev/full; echo $?
release
#> 1

### closed-stdout-help-and-version
# starts: --help, --version and --verbose write to standard output
for word in --help --version; do flock $word >&-; echo $?; done
#> 0
#> 0

### pipe-without-reader-help
# needs: dev-fd
# starts: --help, --version and --verbose write to standard output
(trap '' PIPE; exec > >(:); wait $!; flock --help; echo $? >&2)
#2> 0

### pipe-without-reader-verbose
# needs: dev-fd
# starts: --help, --version and --verbose write to standard output
(trap '' PIPE; exec > >(:); wait $!; flock --verbose f true; echo $? >&2)
#2> 0

### pipe-without-reader-kills
# starts: --help, --version and --verbose write to standard output
# needs: sigenv dev-fd
(exec > >(:); wait $!; env --default-signal=PIPE flock --help; echo $? >&2)
#2> 141

### pipe-without-reader-verbose-kills
# starts: --help, --version and --verbose write to standard output
# needs: sigenv dev-fd
(exec > >(:); wait $!; env --default-signal=PIPE flock --verbose f true; echo $? >&2)
#2> 141

### pipe-without-reader-kills-the-child
# runtime: where the Go runtime has started flock reports the error itself, and dies
# kernel: the directory lock needs the Go runtime
# needs: python3
python3 - <<'END'
import os, subprocess
for form in '', '-F':
    r, w = os.pipe()
    os.close(r)
    argv = ['flock'] + form.split() + ['f', './missing']
    print(form, subprocess.call(argv, stdout=subprocess.DEVNULL, stderr=w))
    os.close(w)
END
#>  141
#> -F -13

### file-size-limit-verbose
# starts: --help, --version and --verbose write to standard output
# needs: proc sigenv
(ulimit -c 0; ulimit -f 0; env --default-signal=XFSZ flock --verbose f true >out 2>/dev/null; echo $?) 2>/dev/null | cat
#> 153

### usage-errors-go-to-stderr
flock >out; echo $?
wc -c <out | tr -d ' '
flock --bogus >out; echo $?
wc -c <out | tr -d ' '
#> 64
#> 0
#> 64
#> 0
#2> flock: not enough arguments
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--bogus'
#2> Try 'flock --help' for more information.

### languages-are-not-taken-up
LC_ALL=de_DE.UTF-8 LANGUAGE=de flock f nothing-here; echo $?
#> 69
#2> flock: failed to execute nothing-here: No such file or directory

### help-is-the-same-on-a-second-run
# starts: --help, --version and --verbose write to standard output
flock --help >a; flock -h >b; cmp a b && echo same
#> same

### verbose-into-a-pipe-that-nobody-reads
# starts: --help, --version and --verbose write to standard output
# needs: sigenv
mkfifo pipe
{ read -r x; } <pipe & exec 3>pipe
echo >&3; wait $!
env --default-signal=PIPE flock --verbose f touch ran >&3; echo $?
exec 3>&-
ls ran
#> 141
#> ran

### verbose-ok
# unordered: 2.43 can print the two lines in either order
flock --verbose f true
#> flock: executing true
#> flock: getting lock took N seconds
