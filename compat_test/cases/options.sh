The command line as getopt_long reads it: short and long options, abbreviations, any order.

# alike: options are read before the way of locking is chosen

### plain
flock f echo hi
#> hi

### clusters
flock -xn f echo hi
flock -sn f echo hi
#> hi
#> hi

### cluster-conflict
hold f
flock -sn f echo no; echo $?
flock -xnE7 f echo no; echo $?
release
#> 1
#> 7

### cluster-with-value-attached
hold f
flock -nE9 f echo no; echo $?
flock -nxE 9 f echo no; echo $?
release
#> 9
#> 9

### cluster-ns-value-next-word
hold -s f
flock -nsE 4 f echo in; echo $?
release
#> in
#> 0

### w-attached-and-separate
flock -w5 f echo hi
flock -w 5 f echo hi
#> hi
#> hi

### E-numbers
hold f
for e in -E33 '-E 33' '-E 0' '-E 255' '-E 010' '-E 3 -E 4'; do flock -n $e f echo no; echo $?; done
release
#> 33
#> 33
#> 0
#> 255
#> 10
#> 4

### E-blank-and-sign
# starts: numbers with blanks and signs, and exponents
hold f
flock -n -E ' 7' f echo no; echo $?
flock -n -E +8 f echo no; echo $?
release
#> 7
#> 8

### E-without-conflict
flock -E 9 f true; echo $?
flock -n -E 9 f false; echo $?
#> 0
#> 1

### long-modes
hold -s f
flock -n --shared f echo in; echo $?
flock -n --exclusive f echo in; echo $?
release
#> in
#> 0
#> 1

### long-waits
hold f
for words in --nonblock --nb --timeout=.05 '--timeout .05' --wait=.05 '--wait .05' \
	'-n --conflict-exit-code=17' '-n --conflict-exit-code 17'; do
	flock $words f echo in; echo $?
done
release
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 17
#> 17

### long-close
# needs: proc
flock --close f sh -c 'test -e /proc/self/fd/3; echo $?'
#> 1

### long-no-fork
flock --no-fork f sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?
#> 0

### long-unlock
exec 9>f
flock 9
flock --unlock 9
flock -n f echo free
#> free

### long-verbose-goes-where
# starts: --help, --version and --verbose write to standard output
flock --verbose f true >out 2>err
grep -c -e getting -e executing out
grep -c -e getting -e executing err
#> 2
#> 0
#= 1

### abbreviations-of-shared
# starts: abbreviated options
hold -s f
for word in sh sha shar share; do flock -n --$word f echo in; echo $?; done
release
#> in
#> 0
#> in
#> 0
#> in
#> 0
#> in
#> 0

### abbreviations-of-exclusive
# starts: abbreviated options
hold -s f
for word in e ex exc exclu exclusiv; do flock -ns --$word f echo in; echo $?; done
release
#> 1
#> 1
#> 1
#> 1
#> 1

### abbreviations-of-unlock
# starts: abbreviated options
exec 9>f
for word in u un unl unloc; do
	flock 9
	flock --$word 9; echo $?
	flock -n f echo free; echo $?
done
#> 0
#> free
#> 0
#> 0
#> free
#> 0
#> 0
#> free
#> 0
#> 0
#> free
#> 0

### abbreviations-of-nonblock
# starts: abbreviated options
hold f
for word in non nonb nonbl nonbloc; do flock --$word f echo in; echo $?; done
release
#> 1
#> 1
#> 1
#> 1

### abbreviations-of-timeout-and-wait
# starts: abbreviated options
hold f
for word in t ti time timeou w wa wai; do flock --$word .05 f echo in; echo $?; done
for word in t timeo w wai; do flock --$word=.05 f echo in; echo $?; done
release
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1
#> 1

### abbreviations-of-conflict-exit-code
# starts: abbreviated options
hold f
for word in con conf conflict conflict- conflict-exit conflict-exit-cod; do flock -n --$word 44 f echo in; echo $?; done
release
#> 44
#> 44
#> 44
#> 44
#> 44
#> 44

### abbreviations-of-close
# starts: abbreviated options
for word in cl clo clos; do flock --$word f sh -c 'flock -n f echo in; echo $?'; done
#> 1
#> 1
#> 1

### abbreviations-of-no-fork
# starts: abbreviated options
for word in no- no-f no-for; do
	flock --$word f sh -c 'echo $PPID' >ppid
	[ "$(cat ppid)" = $$ ]; echo $?
done
#> 0
#> 0
#> 0

### abbreviations-of-verbose
flock --verb f true
flock --verbos f true
#> flock: getting lock took N seconds
#> flock: executing true
#> flock: getting lock took N seconds
#> flock: executing true

### abbreviations-of-help
# starts: abbreviated options
for word in h he hel; do
	flock --$word >out; echo $?
	grep -c -- --conflict-exit-code out
done
#> 0
#> 1
#> 0
#> 1
#> 0
#> 1

### abbreviations-of-version
# starts: abbreviated options
for word in vers versio; do flock --$word >out; echo $?; grep -c util-linux out; done
#> 0
#> 1
#> 0
#> 1

### nonblock-differs-from-nonblocking
# starts: abbreviated options
hold f
flock --nonblocking f echo in; echo $?
flock --nonblocki f echo in; echo $?
release
#> 1
#> 1

### dashdash-ends-options
flock -- f echo hi
#> hi

### dashdash-then-dashed-file
# starts: words that begin with a dash
flock -- -n echo hi
ls
#> hi
#> -n

### dashdash-after-options
hold f
flock -n -- f echo no; echo $?
release
#> 1

### dashdash-after-file-is-the-command
flock f -- echo hi; echo $?
#> 69
#2> flock: failed to execute --: No such file or directory
# differs: a second line says what to do
#> 69
#2> flock: failed to execute --: No such file or directory
#2> flock: -- goes before the file: flock [options] -- <file> <command>

### stops-at-first-non-option
flock f printf '<%s>' -n -E 5 --bogus
#> <-n><-E><5><--bogus>
#\ no newline at the end

### options-after-file-belong-to-the-command
flock f -n true; echo $?
flock f --shared true; echo $?
#> 69
#> 69
#2> flock: failed to execute -n: No such file or directory
#2> flock: failed to execute --shared: No such file or directory
# differs: a second line says what to do
#> 69
#> 69
#2> flock: failed to execute -n: No such file or directory
#2> flock: options go before the file: flock [options] <file> <command>
#2> flock: failed to execute --shared: No such file or directory
#2> flock: options go before the file: flock [options] <file> <command>

### single-dash-is-a-file
# starts: words that begin with a dash
flock - echo hi
ls
#> hi
#> -

### empty-file-name
flock '' echo hi; echo $?
#> 66
#2> flock: cannot open lock file : No such file or directory
# differs: a second line says what to do
#> 66
#2> flock: cannot open lock file : No such file or directory
#2> flock: the name is empty: is a variable not set?

### last-of-s-x-and-e
hold -s f
for words in '-s -x' '-x -s' -se -e; do flock -n $words f echo in; echo $?; done
release
#> 1
#> in
#> 0
#> 1
#> 1

### last-of-x-and-u-is-u
exec 9>f
flock 9
flock -x -u 9
flock -n f echo free; echo $?
#> free
#> 0

### last-of-u-and-x-is-x
exec 9>f
flock -u -x 9
flock -n f echo free; echo $?
#> 1

### last-of-u-and-s-is-s
exec 9>f
flock -us 9
flock -n f echo free; echo $?
flock -ns f echo shared; echo $?
#> 1
#> shared
#> 0

### u-with-a-file-runs-unlocked
hold f
flock -u f echo in; echo $?
flock -un f echo in; echo $?
release
#> in
#> 0
#> in
#> 0

### repeated-flags
flock -n -n -x -x f echo hi
#> hi

### last-of-w-and-n
hold f
for words in '-w 100 -w .05' '-w 100 -n' '-n -w .05'; do flock $words f echo in; echo $?; done
release
#> 1
#> 1
#> 1

### help-where-it-stands
# starts: --help, --version and --verbose write to standard output
flock -h --bogus >out; echo $?
grep -o Usage out
#> 0
#> Usage

### help-after-an-error
# starts: --help, --version and --verbose write to standard output
for words in --bogus '-w abc'; do flock $words -h >out 2>err; echo $?; wc -c <out | tr -d ' '; done
#> 64
#> 0
#> 64
#> 0

### help-before-an-error
# starts: --help, --version and --verbose write to standard output
for words in '-h -w abc' -nh -hz; do flock $words >out; echo $?; [ -s out ]; echo $?; done
#> 0
#> 0
#> 0
#> 0
#> 0
#> 0

### version-where-it-stands
# starts: --help, --version and --verbose write to standard output
for words in '-V --bogus' -xV; do flock $words >out; echo $?; grep -c util-linux out; done
#> 0
#> 1
#> 0
#> 1

### version-after-an-error
# starts: --help, --version and --verbose write to standard output
flock --bogus -V 2>err; echo $?
#> 64

### version-before-help
# starts: --help, --version and --verbose write to standard output
flock -V -h >out; echo $?
wc -l <out | tr -d ' '
#> 0
#> 1

### version-line
# starts: --help, --version and --verbose write to standard output
flock --version >out 2>err; echo $?
wc -l <out | tr -d ' '
grep -c '^flock.*util-linux' out
wc -c <err | tr -d ' '
#> 0
#> 1
#> 1
#> 0

### version-names-argv0
# starts: --help, --version and --verbose write to standard output
flock -V | cut -d' ' -f1
#> flock

### help-to-stdout-only
# starts: --help, --version and --verbose write to standard output
flock --help >out 2>err; echo $?
wc -c <err | tr -d ' '
#> 0
#> 0

### help-usage-first
flock --help | grep -m 1 .
#> Usage:

### help-names-every-option
# starts: --help, --version and --verbose write to standard output
flock --help >out
for o in -s --shared -x --exclusive -u --unlock -n --nonblock -w --timeout -E --conflict-exit-code -o --close \
	-c --command -F --no-fork --verbose -h --help -V --version; do
	grep -qw -e "$o" -e "$o.*" out || echo "no $o"
done
#= 0

### help-names-the-new-options
# starts: --help, --version and --verbose write to standard output
# since: 2.43
# derived: new options of 2.43
flock --help >out
for o in --fcntl --start --length --fd --nonblocking --wait; do
	grep -q -e "$o" out || echo "no $o"
done
# script: 6b6faacd72a2
#= 0

### help-shows-three-forms
# starts: --help, --version and --verbose write to standard output
flock --help | grep -c '^ flock'  | sed 's/[3-9]/three or more/'
#> three or more

### help-needs-no-file
# starts: --help, --version and --verbose write to standard output
cd /
flock -h >/dev/null; echo $?
#> 0

### one-argument-is-a-descriptor
exec 9>f
flock 9; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-with-blank-and-sign
# starts: numbers with blanks and signs, and exponents
exec 9>f
flock ' 9'; echo $?
flock +9; echo $?
#> 0
#> 0

### descriptor-with-leading-zero
exec 8>f
flock 08; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-not-open
for words in '' -u '-n -E 5'; do flock $words 77; echo $?; done
#> 65
#> 65
#> 65
#2> flock: 77: Bad file descriptor
#2> flock: 77: Bad file descriptor
#2> flock: 77: Bad file descriptor
# differs: a second line says what to do
#> 65
#> 65
#> 65
#2> flock: 77: Bad file descriptor
#2> flock: is descriptor 77 open?
#2> flock: 77: Bad file descriptor
#2> flock: is descriptor 77 open?
#2> flock: 77: Bad file descriptor
#2> flock: is descriptor 77 open?

### descriptor-and-command-is-a-file
exec 9>g
flock 9 echo hi
ls
#> hi
#> 9
#> g

### number-as-file-with-c
flock 9 -c 'echo hi'
ls
#> hi
#> 9

### F-and-o
flock -o -F f true; echo $?
flock -Fo f true; echo $?
#> 64
#> 64
#2> flock: the --no-fork and --close options are incompatible
#2> flock: the --no-fork and --close options are incompatible

### F-and-o-with-n
hold f
flock -n -F -o f true; echo $?
release
#> 64
#2> flock: the --no-fork and --close options are incompatible

### F-without-a-command
exec 9>f
flock -F 9; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### o-without-a-command
exec 9>f
flock -o 9; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### errors-come-before-the-file-is-made
# starts: the message is not in the output, or not all of it
flock -w abc f true 2>err; echo $?
flock -E 300 f true 2>err; echo $?
flock --bogus f true 2>err; echo $?
ls
#> 64
#> 64
#> 64
#> err

### errors-come-before-the-command
# starts: the message is not in the output, or not all of it
flock -w x f echo no 2>err; echo $?
flock f -c echo no 2>err; echo $?
#> 64
#> 64

### message-names-basename-of-argv0
bash -c 'exec -a /some/where/lockit flock f nothing-here'; echo $?
#> 69
#2> lockit: failed to execute nothing-here: No such file or directory

### message-with-odd-argv0
# starts: the message is not in the output, or not all of it
bash -c 'exec -a "a b" flock f nothing-here'; echo $?
#> 69
#2> a b: failed to execute nothing-here: No such file or directory

### try-line-names-basename-of-argv0
bash -c 'exec -a /opt/lockit flock' ; echo $?
#> 64
#2> lockit: not enough arguments
#2> Try 'lockit --help' for more information.

### started-by-path
ln -s "$(command -v flock)" other-name
./other-name f nothing-here; echo $?
./other-name -V | cut -d' ' -f1
#> 69
#> other-name
#2> other-name: failed to execute nothing-here: No such file or directory

### posixly-correct-changes-nothing
POSIXLY_CORRECT=1 flock -n f echo -n hi; echo $?
#> hi0

### word-with-equals-is-not-an-option
flock a=b echo hi
ls
#> hi
#> a=b

### missing-words
flock; echo $?
flock --timeout; echo $?
flock f -c; echo $?
#> 64
#> 64
#> 64
#2> flock: not enough arguments
#2> Try 'flock --help' for more information.
#2> flock: option '--timeout' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: -c requires exactly one command argument

### unknown-long
flock --bogus f true; echo $?
flock --bogus=3 f true; echo $?
#> 64
#> 64
#2> flock: unrecognized option '--bogus'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--bogus=3'
#2> Try 'flock --help' for more information.

### abbrev-verb
# unordered: 2.43 can print the two lines in either order
flock --verb f true
#> flock: executing true
#> flock: getting lock took N seconds
