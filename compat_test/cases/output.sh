What flock prints, where it prints it, and what it does when it cannot print.

### silent
flock f true
flock -n f true
flock -w 1 f true

### silent-on-conflict
hold f
flock -n f true; echo $?
flock -w .05 f true; echo $?
release

### verbose-and-the-output-of-the-command
flock --verbose f echo hi

### verbose-on-a-terminal
# needs: script
script -qec 'flock --verbose f echo hi' /dev/null </dev/null | tr -d '\r'

### verbose-on-a-terminal-no-fork
# needs: script
script -qec 'flock -F --verbose f echo hi' /dev/null </dev/null | tr -d '\r'

### verbose-forms
for words in 'f true one two' '-n f true' '-w 5 f true' '-o f true' '-s f true' '--verbose f true' 'f -c true' \
	'f false' '/missing/f true'; do
	flock --verbose $words; echo $?
done
SHELL=$(command -v bash) flock --verbose f -c true
mkdir d; flock --verbose d true

### verbose-no-fork
# differs: the lines are written at once; with --no-fork into a file or pipe the reference loses them
flock --verbose -F f true

### verbose-descriptor
exec 9>f
flock --verbose 9; echo $?
flock --verbose -u 9; echo $?

### verbose-conflict
hold f
for words in -n '-w 0' '-n -w 5' '-w .05' '-n -E 4' '-w .05 -E 4'; do flock --verbose $words f echo no; echo $?; done
exec 9>f
flock --verbose -n 9; echo $?
flock --verbose -w .05 9; echo $?
release

### verbose-order-on-one-stream
flock --verbose f sh -c 'echo out; echo err >&2' 2>&1

### verbose-name-is-argv0
bash -c 'exec -a /x/lockit flock --verbose f true'

### verbose-duration-has-six-digits
# starts: --help, --version and --verbose write to standard output
# needs: python3
flock --verbose f true | python3 -c "import re, sys
print(bool(re.match(r'flock: getting lock took [0-9]+\.[0-9]{6} seconds\n', sys.stdin.read())))"

### verbose-duration-is-the-wait
# starts: --help, --version and --verbose write to standard output
hold f
flock --verbose f true >out &
await 'waiting f'
sleep .3
release
wait $!
sed -n 's/.*took \(.*\) seconds/\1/p' out | awk '{ print ($1 >= .25 && $1 < 25) }'

### full-help
# needs: full
flock --help >/dev/full; echo $?

### full-version
# needs: full
flock --version >/dev/full; echo $?

### full-verbose
# needs: full
flock --verbose f true >/dev/full; echo $?
flock --verbose f sh -c 'exit 5' >/dev/full; echo $?
flock --verbose f touch ran >/dev/full; echo $?
ls
exec 9>f
flock --verbose 9 >/dev/full; echo $?
flock -n f echo in; echo $?

### full-verbose-no-fork
# starts: --help, --version and --verbose write to standard output
# needs: full
flock -F --verbose f touch ran >/dev/full; echo $?
ls

### full-nothing-to-write
# needs: full
flock f true >/dev/full; echo $?
flock f sh -c 'echo hi 2>/dev/null; exit 9' >/dev/full; echo $?

### full-stderr
# starts: the message is not in the output, or not all of it
# needs: full
flock f nothing-here 2>/dev/full; echo $?
flock --bogus 2>/dev/full; echo $?

### full-stderr-conflict
# starts: the message is not in the output, or not all of it
# needs: full
hold f
flock --verbose -n f true 2>/dev/full; echo $?
release

### closed-stdout-help-and-version
# starts: --help, --version and --verbose write to standard output
for word in --help --version; do flock $word >&-; echo $?; done

### pipe-without-reader-help
# needs: dev-fd
# starts: --help, --version and --verbose write to standard output
(trap '' PIPE; exec > >(:); wait $!; flock --help; echo $? >&2)

### pipe-without-reader-verbose
# needs: dev-fd
# starts: --help, --version and --verbose write to standard output
(trap '' PIPE; exec > >(:); wait $!; flock --verbose f true; echo $? >&2)

### pipe-without-reader-kills
# starts: --help, --version and --verbose write to standard output
# needs: sigenv dev-fd
(exec > >(:); wait $!; env --default-signal=PIPE flock --help; echo $? >&2)

### pipe-without-reader-verbose-kills
# starts: --help, --version and --verbose write to standard output
# needs: sigenv dev-fd
(exec > >(:); wait $!; env --default-signal=PIPE flock --verbose f true; echo $? >&2)

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

### file-size-limit-verbose
# starts: --help, --version and --verbose write to standard output
# needs: proc sigenv
(ulimit -c 0; ulimit -f 0; env --default-signal=XFSZ flock --verbose f true >out 2>/dev/null; echo $?) 2>/dev/null | cat

### usage-errors-go-to-stderr
flock >out; echo $?
wc -c <out | tr -d ' '
flock --bogus >out; echo $?
wc -c <out | tr -d ' '

### languages-are-not-taken-up
LC_ALL=de_DE.UTF-8 LANGUAGE=de flock f nothing-here; echo $?

### help-is-the-same-on-a-second-run
# starts: --help, --version and --verbose write to standard output
flock --help >a; flock -h >b; cmp a b && echo same

### verbose-into-a-pipe-that-nobody-reads
# starts: --help, --version and --verbose write to standard output
# needs: sigenv
mkfifo pipe
{ read -r x; } <pipe & exec 3>pipe
echo >&3; wait $!
env --default-signal=PIPE flock --verbose f touch ran >&3; echo $?
exec 3>&-
ls ran

### verbose-ok
# unordered: 2.43 can print the two lines in either order
flock --verbose f true
