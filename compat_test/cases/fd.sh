--fd: the descriptor is an option, and all words are the command.

# since: 2.43

### fdopt-cmd
exec 9<>f
flock --fd 9 echo hi; flock -n f echo no; echo $?

### fdopt-c
exec 9<>f
flock --fd 9 -c 'echo hi $0'

### fdopt-missing-cmd
exec 9<>f
flock --fd 9

### fdopt-missing-arg
flock --fd

### fdopt-not-open
# differs: a second line says what to do
flock --fd 77 echo hi

### fdopt-neg
# differs: a second line says what to do
flock --fd -1 echo hi

### fdopt-c-two
# differs: a second line says what to do
exec 9<>f
flock --fd 9 -c a b

### fdopt-conflict
exec 8<>f 9<>f
flock 8; flock -n --fd 9 echo no; echo $?
flock -n -E 5 --fd 9 echo no; echo $?

### fdopt-o
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c 'ls /proc/self/fd | tr "\n" " "'

### fdopt-keeps-after
exec 9<>f
flock --fd 9 true; flock -n f echo no; echo $?

### fdopt-u
exec 9<>f
flock 9; flock -u --fd 9 echo hi; flock -n f echo free

### fdopt-verbose
# unordered: 2.43 can print the two lines in either order
exec 9<>f
flock --verbose --fd 9 true

### fdopt-c-then-option
# needs: sh-c-n
# starts: words that begin with a dash
flock --fd 9 -c -n 'echo hi' 9>f

### fdopt-c-then-dashdash
# starts: words that begin with a dash
flock --fd 9 -c -- 'echo hi' 9>f

### fdopt-c-then-verbose
# unordered: 2.43 can print the two lines in either order
flock --fd 9 -c --verbose 'echo hi' 9>f

### fdopt-neg-alone
# differs: a second line says what to do
flock --fd -1

### fdopt-wraps-round
# differs: 2.43 stores it in 32 bits without a check of the range
flock --fd -4294967295 true

### new-fdopt-bad-numbers
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
for n in abc '' 99999999999 '9 '; do flock --fd "$n" true; echo $?; done

### new-fdopt-blank
# starts: numbers with blanks and signs, and exponents
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
exec 9<>f
flock --fd ' 9' echo hi

### new-fdopt-eq
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd=9 echo hi
flock -n f echo in; echo $?

### new-fdopt-first-word-is-the-command
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 f echo hi; echo $?
ls

### new-fdopt-command
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 --command "echo hi"; echo $?

### new-fdopt-c-missing
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 -c; echo $?

### new-fdopt-status
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 sh -c "exit 41"; echo $?
flock --fd 9 sh -c 'kill -TERM $$'; echo $?

### new-fdopt-n-E
# derived: --fd: there is no file name, the first non-option word is the command
# needs: reflock
# kernel: the holder is another program, which uses kernel locks
rehold f
exec 9<>f
flock -n -E 8 --fd 9 echo no; echo $?
release

### new-fdopt-w
# derived: --fd: there is no file name, the first non-option word is the command
hold f
exec 9<>f
flock -w .05 --fd 9 echo no; echo $?
release

### new-fdopt-shared
# derived: --fd: there is no file name, the first non-option word is the command
hold -s f
exec 9<>f
flock -n -s --fd 9 echo in; echo $?
release

### new-fdopt-last-wins
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>e 9<>f
flock --fd 8 --fd 9 echo hi
flock -n e echo e; flock -n f echo f

### new-fdopt-not-found
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 nothing-here; echo $?

### new-fdopt-no-fork
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock -F --fd 9 sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?

### new-fdopt-inherited
# derived: --fd: there is no file name, the first non-option word is the command
# needs: proc
exec 9<>f
flock --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"

### new-fdopt-o-closed-in-the-command-only
# derived: the descriptor stays locked after the command, --close closes it in the command only
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"
test -e /proc/self/fd/9; echo $?
flock -n f echo in; echo $?

### new-fdopt-waits
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>f 9<>f
flock 8
flock --fd 9 echo second &
await "waiting f"
echo first
flock -u 8
wait
