The command line as getopt_long reads it: short and long options, abbreviations, any order.

# alike: options are read before the way of locking is chosen

### plain
flock f echo hi

### cluster-xn
flock -xn f echo hi

### cluster-sn
flock -sn f echo hi

### cluster-conflict
hold f
flock -sn f echo no; echo $?
flock -xnE7 f echo no; echo $?
release

### cluster-with-value-attached
hold f
flock -nE9 f echo no; echo $?
flock -nxE 9 f echo no; echo $?
release

### cluster-ns-value-next-word
hold -s f
flock -nsE 4 f echo in; echo $?
release

### w-attached
flock -w5 f echo hi

### w-separate
flock -w 5 f echo hi

### E-attached
hold f
flock -n -E33 f echo no; echo $?
release

### E-separate
hold f
flock -n -E 33 f echo no; echo $?
release

### E-0
hold f
flock -n -E 0 f echo no; echo $?
release

### E-255
hold f
flock -n -E 255 f echo no; echo $?
release

### E-blank-and-sign
# starts: numbers with blanks and signs, and exponents
hold f
flock -n -E ' 7' f echo no; echo $?
flock -n -E +8 f echo no; echo $?
release

### E-leading-zero-is-decimal
hold f
flock -n -E 010 f echo no; echo $?
release

### E-last-wins
hold f
flock -n -E 3 -E 4 f echo no; echo $?
release

### E-without-conflict
flock -E 9 f true; echo $?
flock -n -E 9 f false; echo $?

### long-shared
hold -s f
flock -n --shared f echo in; echo $?
release

### long-exclusive
hold -s f
flock -n --exclusive f echo in; echo $?
release

### long-nonblock
hold f
flock --nonblock f echo in; echo $?
release

### long-nb
hold f
flock --nb f echo in; echo $?
release

### long-timeout-eq
hold f
flock --timeout=.05 f echo in; echo $?
release

### long-timeout-separate
hold f
flock --timeout .05 f echo in; echo $?
release

### long-wait-eq
hold f
flock --wait=.05 f echo in; echo $?
release

### long-wait-separate
hold f
flock --wait .05 f echo in; echo $?
release

### long-conflict-eq
hold f
flock -n --conflict-exit-code=17 f echo in; echo $?
release

### long-conflict-separate
hold f
flock -n --conflict-exit-code 17 f echo in; echo $?
release

### long-close
# needs: proc
flock --close f sh -c 'test -e /proc/self/fd/3; echo $?'

### long-no-fork
flock --no-fork f sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?

### long-unlock
exec 9>f
flock 9
flock --unlock 9
flock -n f echo free

### long-verbose-goes-where
# starts: --help, --version and --verbose write to standard output
flock --verbose f true >out 2>err
grep -c -e getting -e executing out
grep -c -e getting -e executing err

### abbrev-$each
# starts: abbreviated options
# each: sh sha shar share
hold -s f
flock -n --$each f echo in; echo $?
release

### abbrev-$each
# starts: abbreviated options
# each: e ex exc exclu exclusiv
hold -s f
flock -ns --$each f echo in; echo $?
release

### abbrev-$each
# starts: abbreviated options
# each: u un unl unloc
exec 9>f
flock 9
flock --$each 9; echo $?
flock -n f echo free; echo $?

### abbrev-$each
# starts: abbreviated options
# each: non nonb nonbl nonbloc
hold f
flock --$each f echo in; echo $?
release

### abbrev-$each
# starts: abbreviated options
# each: t ti time timeou w wa wai
hold f
flock --$each .05 f echo in; echo $?
release

### abbrev-$each-eq.05
# starts: abbreviated options
# each: t timeo w wai
hold f
flock --$each=.05 f echo in; echo $?
release

### abbrev-$each
# starts: abbreviated options
# each: con conf conflict conflict- conflict-exit conflict-exit-cod
hold f
flock -n --$each 44 f echo in; echo $?
release

### abbrev-$each
# starts: abbreviated options
# each: cl clo clos
flock --$each f sh -c 'flock -n f echo in; echo $?'

### abbrev-$each
# starts: abbreviated options
# each: no- no-f no-for
flock --$each f sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?

### abbrev-verb-live
flock --verb f true

### abbrev-verbos
flock --verbos f true

### abbrev-$each
# starts: abbreviated options
# each: h he hel
flock --$each >out; echo $?
grep -c -- --conflict-exit-code out

### abbrev-vers
# starts: abbreviated options
flock --vers >out; echo $?
grep -c util-linux out

### abbrev-versio
# starts: abbreviated options
flock --versio >out; echo $?
grep -c util-linux out

### nonblock-differs-from-nonblocking
# starts: abbreviated options
hold f
flock --nonblocking f echo in; echo $?
flock --nonblocki f echo in; echo $?
release

### dashdash-ends-options
flock -- f echo hi

### dashdash-then-dashed-file
# starts: words that begin with a dash
flock -- -n echo hi
ls

### dashdash-after-options
hold f
flock -n -- f echo no; echo $?
release

### dashdash-after-file-is-the-command
# differs: a second line says what to do
flock f -- echo hi; echo $?

### stops-at-first-non-option
flock f echo -n -E 5 --bogus

### options-after-file-belong-to-the-command
# differs: a second line says what to do
flock f -n true; echo $?
flock f --shared true; echo $?

### single-dash-is-a-file
# starts: words that begin with a dash
flock - echo hi
ls

### empty-file-name
# differs: a second line says what to do
flock '' echo hi; echo $?

### last-of-s-and-x-is-x
hold -s f
flock -n -s -x f echo in; echo $?
release

### last-of-x-and-s-is-s
hold -s f
flock -n -x -s f echo in; echo $?
release

### last-of-s-and-e-is-e
hold -s f
flock -nse f echo in; echo $?
release

### e-is-exclusive
hold -s f
flock -n -e f echo in; echo $?
release

### last-of-x-and-u-is-u
exec 9>f
flock 9
flock -x -u 9
flock -n f echo free; echo $?

### last-of-u-and-x-is-x
exec 9>f
flock -u -x 9
flock -n f echo free; echo $?

### last-of-u-and-s-is-s
exec 9>f
flock -us 9
flock -n f echo free; echo $?
flock -ns f echo shared; echo $?

### u-with-a-file-runs-unlocked
hold f
flock -u f echo in; echo $?
release

### u-does-not-wait-under-n
hold f
flock -un f echo in; echo $?
release

### repeated-flags
flock -n -n -x -x f echo hi

### w-last-wins
hold f
flock -w 100 -w .05 f echo in; echo $?
release

### n-after-w
hold f
flock -w 100 -n f echo in; echo $?
release

### n-before-w
hold f
flock -n -w .05 f echo in; echo $?
release

### help-where-it-stands
# starts: --help, --version and --verbose write to standard output
flock -h --bogus >out; echo $?
grep -o Usage out

### help-after-an-error
# starts: --help, --version and --verbose write to standard output
flock --bogus -h >out 2>err; echo $?
wc -c <out | tr -d ' '

### help-after-bad-value
# starts: --help, --version and --verbose write to standard output
flock -w abc -h >out 2>err; echo $?
wc -c <out | tr -d ' '

### help-before-bad-value
# starts: --help, --version and --verbose write to standard output
flock -h -w abc >out; echo $?
[ -s out ]; echo $?

### help-in-a-cluster
# starts: --help, --version and --verbose write to standard output
flock -nh >out; echo $?
[ -s out ]; echo $?

### help-then-rubbish-in-a-cluster
# starts: --help, --version and --verbose write to standard output
flock -hz >out; echo $?
[ -s out ]; echo $?

### version-where-it-stands
# starts: --help, --version and --verbose write to standard output
flock -V --bogus >out; echo $?
grep -c util-linux out

### version-after-an-error
# starts: --help, --version and --verbose write to standard output
flock --bogus -V 2>err; echo $?

### version-before-help
# starts: --help, --version and --verbose write to standard output
flock -V -h >out; echo $?
wc -l <out | tr -d ' '

### version-in-a-cluster
# starts: --help, --version and --verbose write to standard output
flock -xV >out; echo $?
grep -c util-linux out

### version-line
# starts: --help, --version and --verbose write to standard output
flock --version >out 2>err; echo $?
wc -l <out | tr -d ' '
grep -c '^flock.*util-linux' out
wc -c <err | tr -d ' '

### version-names-argv0
# starts: --help, --version and --verbose write to standard output
flock -V | cut -d' ' -f1

### help-to-stdout-only
# starts: --help, --version and --verbose write to standard output
flock --help >out 2>err; echo $?
wc -c <err | tr -d ' '

### help-usage-first
flock --help | grep -m 1 .

### help-names-every-option
# starts: --help, --version and --verbose write to standard output
flock --help >out
for o in -s --shared -x --exclusive -u --unlock -n --nonblock -w --timeout -E --conflict-exit-code -o --close \
	-c --command -F --no-fork --verbose -h --help -V --version; do
	grep -qw -e "$o" -e "$o.*" out || echo "no $o"
done

### help-names-the-new-options
# starts: --help, --version and --verbose write to standard output
# since: 2.43
# derived: new options of 2.43
flock --help >out
for o in --fcntl --start --length --fd --nonblocking --wait; do
	grep -q -e "$o" out || echo "no $o"
done

### help-shows-three-forms
# starts: --help, --version and --verbose write to standard output
flock --help | grep -c '^ flock'  | sed 's/[3-9]/three or more/'

### help-needs-no-file
# starts: --help, --version and --verbose write to standard output
cd /
flock -h >/dev/null; echo $?

### one-argument-is-a-descriptor
exec 9>f
flock 9; echo $?
flock -n f echo in; echo $?

### descriptor-with-blank-and-sign
# starts: numbers with blanks and signs, and exponents
exec 9>f
flock ' 9'; echo $?
flock +9; echo $?

### descriptor-with-leading-zero
exec 8>f
flock 08; echo $?
flock -n f echo in; echo $?

### descriptor-not-open
# differs: a second line says what to do
flock 77; echo $?

### descriptor-not-open-u
# differs: a second line says what to do
flock -u 77; echo $?

### descriptor-not-open-n
# differs: a second line says what to do
flock -n -E 5 77; echo $?

### descriptor-and-command-is-a-file
exec 9>g
flock 9 echo hi
ls

### number-as-file-with-c
flock 9 -c 'echo hi'
ls

### F-and-o
flock -o -F f true; echo $?
flock -Fo f true; echo $?

### F-and-o-with-n
hold f
flock -n -F -o f true; echo $?
release

### F-without-a-command
exec 9>f
flock -F 9; echo $?
flock -n f echo in; echo $?

### o-without-a-command
exec 9>f
flock -o 9; echo $?
flock -n f echo in; echo $?

### errors-come-before-the-file-is-made
# starts: the message is not in the output, or not all of it
flock -w abc f true 2>err; echo $?
flock -E 300 f true 2>err; echo $?
flock --bogus f true 2>err; echo $?
ls

### errors-come-before-the-command
# starts: the message is not in the output, or not all of it
flock -w x f echo no 2>err; echo $?
flock f -c echo no 2>err; echo $?

### message-names-basename-of-argv0
bash -c 'exec -a /some/where/lockit flock f nothing-here'; echo $?

### message-with-odd-argv0
# starts: the message is not in the output, or not all of it
bash -c 'exec -a "a b" flock f nothing-here'; echo $?

### try-line-names-basename-of-argv0
bash -c 'exec -a /opt/lockit flock' ; echo $?

### started-by-path
ln -s "$(command -v flock)" other-name
./other-name f nothing-here; echo $?
./other-name -V | cut -d' ' -f1

### posixly-correct-changes-nothing
POSIXLY_CORRECT=1 flock -n f echo -n hi; echo $?

### word-with-equals-is-not-an-option
flock a=b echo hi
ls

### noargs
flock

### unknown-long
flock --bogus f true

### unknown-long-eq
flock --bogus=3 f true

### missing-timeout
flock --timeout

### c-noarg
flock f -c

### c-two
# differs: a second line says what to do
flock f -c a b

### abbrev-verb
# unordered: 2.43 can print the two lines in either order
flock --verb f true

### F-o
flock -F -o f true
