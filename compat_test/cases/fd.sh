--fd: the descriptor is an option, and all words are the command.

# since: 2.43

### fdopt-cmd
exec 9<>f
flock --fd 9 echo hi; flock -n f echo no; echo $?
# script: b25dc8af071e
#> hi
#> 1

### fdopt-c
exec 9<>f
flock --fd 9 -c 'echo hi $0'
# script: 19a3ace8003d
#> hi /bin/sh

### fdopt-missing-cmd
exec 9<>f
flock --fd 9
# script: f3d69a02e199
#2> flock: missing command
#= 64

### fdopt-missing-arg
flock --fd
# script: 40276b024fbe
#2> flock: option '--fd' requires an argument
#2> Try 'flock --help' for more information.
#= 64

### fdopt-not-open
flock --fd 77 echo hi
# script: e4b1cd657b73
#2> flock: 77: Bad file descriptor
#= 65
# differs: a second line says what to do
#2> flock: 77: Bad file descriptor
#2> flock: is descriptor 77 open?
#= 65

### fdopt-neg
flock --fd -1 echo hi
# script: aa306af86969
#2> flock: missing file descriptor, file or directory
#= 64
# differs: a second line says what to do
#2> flock: missing file descriptor, file or directory
#2> flock: a descriptor number is 0 or more
#= 64

### fdopt-c-two
exec 9<>f
flock --fd 9 -c a b
# script: f2b2d35c6958
#2> flock: -c requires exactly one command argument
#= 64
# differs: a second line says what to do
#2> flock: -c requires exactly one command argument
#2> flock: put the command into quotes: -c 'a b'
#= 64

### fdopt-conflict
exec 8<>f 9<>f
flock 8; flock -n --fd 9 echo no; echo $?
flock -n -E 5 --fd 9 echo no; echo $?
# script: 704217432aa6
#> 1
#> 5

### fdopt-o
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c 'ls /proc/self/fd | tr "\n" " "'
# script: 647c63d861cf
#> 0 1 2 3 
#\ no newline at the end

### fdopt-keeps-after
exec 9<>f
flock --fd 9 true; flock -n f echo no; echo $?
# script: c2e34e3e623c
#> 1

### fdopt-u
exec 9<>f
flock 9; flock -u --fd 9 echo hi; flock -n f echo free
# script: 4a62769410cf
#> hi
#> free

### fdopt-verbose
# unordered: 2.43 can print the two lines in either order
exec 9<>f
flock --verbose --fd 9 true
# script: aa84dd2af0be
#> flock: executing true
#> flock: getting lock took N seconds

### fdopt-c-then-option
# needs: sh-c-n
# starts: words that begin with a dash
flock --fd 9 -c -n 'echo hi' 9>f
# script: 46d5f73afbd0
#> hi

### fdopt-c-then-dashdash
# starts: words that begin with a dash
flock --fd 9 -c -- 'echo hi' 9>f
# script: 821e51975d49
#> hi

### fdopt-c-then-verbose
# unordered: 2.43 can print the two lines in either order
flock --fd 9 -c --verbose 'echo hi' 9>f
# script: 06f82cdd3556
#> flock: executing /bin/sh
#> flock: getting lock took N seconds
#> hi

### fdopt-neg-alone
flock --fd -1
# script: 5b741366b87f
#2> flock: missing command
#= 64
# differs: a second line says what to do
#2> flock: missing command
#2> flock: a descriptor number is 0 or more
#= 64

### fdopt-wraps-round
flock --fd -4294967295 true
# script: ab8617a38c78
#= 0
# differs: 2.43 stores it in 32 bits without a check of the range
#2> flock: invalid file descriptor: '-4294967295': Numerical result out of range
#= 64

### new-fdopt-bad-numbers
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
for n in abc '' 99999999999 '9 '; do flock --fd "$n" true; echo $?; done
# script: d1c0cdf0c716
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid file descriptor: 'abc'
#2> flock: invalid file descriptor: ''
#2> flock: invalid file descriptor: '99999999999': Numerical result out of range
#2> flock: invalid file descriptor: '9 '

### new-fdopt-blank
# starts: numbers with blanks and signs, and exponents
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
exec 9<>f
flock --fd ' 9' echo hi
# script: 6fbcba1dc5a2
#> hi

### new-fdopt-eq
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd=9 echo hi
flock -n f echo in; echo $?
# script: fe3796d47ac5
#> hi
#> 1

### new-fdopt-first-word-is-the-command
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 f echo hi; echo $?
ls
# script: 75be886d4f4f
#> 69
#> f
#2> flock: failed to execute f: No such file or directory

### new-fdopt-command
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 --command "echo hi"; echo $?
# script: e934b665d655
#> hi
#> 0

### new-fdopt-c-missing
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 -c; echo $?
# script: 536648a9ac1e
#> 64
#2> flock: -c requires exactly one command argument

### new-fdopt-status
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 sh -c "exit 41"; echo $?
flock --fd 9 sh -c 'kill -TERM $$'; echo $?
# script: 7e1f270cc04b
#> 41
#> 143

### new-fdopt-n-E
# derived: --fd: there is no file name, the first non-option word is the command
# needs: reflock
# kernel: the holder is another program, which uses kernel locks
rehold f
exec 9<>f
flock -n -E 8 --fd 9 echo no; echo $?
release
# script: bc049ae186e6
#> 8

### new-fdopt-w
# derived: --fd: there is no file name, the first non-option word is the command
hold f
exec 9<>f
flock -w .05 --fd 9 echo no; echo $?
release
# script: 593bf2bd55b2
#> 1

### new-fdopt-shared
# derived: --fd: there is no file name, the first non-option word is the command
hold -s f
exec 9<>f
flock -n -s --fd 9 echo in; echo $?
release
# script: 74ded21d6f7c
#> in
#> 0

### new-fdopt-last-wins
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>e 9<>f
flock --fd 8 --fd 9 echo hi
flock -n e echo e; flock -n f echo f
# script: 447fcf05ffbd
#> hi
#> e
#= 1

### new-fdopt-not-found
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock --fd 9 nothing-here; echo $?
# script: 21f89aaf1249
#> 69
#2> flock: failed to execute nothing-here: No such file or directory

### new-fdopt-no-fork
# derived: --fd: there is no file name, the first non-option word is the command
exec 9<>f
flock -F --fd 9 sh -c 'echo $PPID' >ppid
[ "$(cat ppid)" = $$ ]; echo $?
# script: 12c4b42e94ab
#> 0

### new-fdopt-inherited
# derived: --fd: there is no file name, the first non-option word is the command
# needs: proc
exec 9<>f
flock --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"
# script: de727ea7ab71
#> 0

### new-fdopt-o-closed-in-the-command-only
# derived: the descriptor stays locked after the command, --close closes it in the command only
# needs: proc
exec 9<>f
flock -o --fd 9 sh -c "test -e /proc/self/fd/9; echo \$?"
test -e /proc/self/fd/9; echo $?
flock -n f echo in; echo $?
# script: 78d10b12cf6c
#> 1
#> 0
#> 1

### new-fdopt-waits
# derived: --fd: there is no file name, the first non-option word is the command
exec 8<>f 9<>f
flock 8
flock --fd 9 echo second &
await "waiting f"
echo first
flock -u 8
wait
# script: 12f4e542d416
#> first
#> second
