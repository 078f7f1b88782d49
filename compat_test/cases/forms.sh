The three forms: a file and a command, a file and -c, a descriptor number.

### file-and-command
flock f echo one 'two  words' ''
#> one two  words 

### file-and-command-arguments-kept
flock f printf '[%s]' '' 'a b' '*' '$x' '\n' -- -x; echo
#> [][a b][*][$x][\n][--][-x]

### c-in-every-form
flock f -c 'echo hi; echo there >&2'
flock f --command 'echo hi'
flock -x -w 5 f -c 'echo hi'
flock -- f -c 'echo hi'
#> hi
#> hi
#> hi
#> hi
#2> there

### c-runs-the-shell-with-c
flock f -c 'echo "$0 $#"'
#> /bin/sh 0

### c-several-commands
for text in '' 'false; true' 'true; exit 7'; do flock f -c "$text"; echo $?; done
#> 0
#> 0
#> 7

### c-syntax-error
sh -c 'if' 2>/dev/null; status=$?
flock f -c 'if' 2>/dev/null; echo $(($? - status))
#> 0

### c-pipes-and-quotes
flock f -c 'printf "%s\n" b a "c d" | sort | tr a-z A-Z'
#> A
#> B
#> C D

### c-command-begins-with-dash
# starts: words that begin with a dash
sh -c '-n' 2>/dev/null; shell=$?
flock f -c '-n' 2>/dev/null; [ $? = $shell ] && echo as by the shell
#> as by the shell

### c-shell-from-environment
printf '%s\n' '#!/bin/sh' 'echo my shell: "$@"' >mysh
chmod +x mysh
SHELL=$PWD/mysh flock f -c 'echo hi'
#> my shell: -c echo hi

### c-shell-unset
printf '%s\n' '#!/bin/sh' 'echo wrong' >mysh
(unset SHELL; flock f -c 'echo hi $0')
#> hi /bin/sh

### c-shell-empty
SHELL= flock f -c 'echo hi'; echo $?
#> hi
#> 0

### c-shell-nonexistent
SHELL=/no/such/shell flock f -c 'echo hi'; echo $?
#> 69
#2> flock: failed to execute /no/such/shell: No such file or directory

### c-shell-without-slash-is-searched
mkdir bin
printf '%s\n' '#!/bin/sh' 'echo found "$@"' >bin/mysh
chmod +x bin/mysh
PATH=$PWD/bin:$PATH SHELL=mysh flock f -c 'echo hi'; echo $?
#> found -c echo hi
#> 0

### c-shell-relative
printf '%s\n' '#!/bin/sh' 'echo relative "$@"' >mysh
chmod +x mysh
SHELL=./mysh flock f -c 'echo hi'
#> relative -c echo hi

### c-shell-not-executable
echo 'echo no' >mysh
SHELL=$PWD/mysh flock f -c 'echo hi'; echo $?
#> 69
#2> flock: failed to execute $DIR/mysh: Permission denied

### c-shell-with-arguments-is-a-file-name
SHELL='/bin/sh -x' flock f -c 'echo hi'; echo $?
#> 69
#2> flock: failed to execute /bin/sh -x: No such file or directory

### c-shell-bash-with-exported-function
greet() { echo "hello $1"; }
export -f greet
SHELL=$(command -v bash) flock f -c 'greet world'
#> hello world

### c-shell-sh-is-not-bash
[ "$(SHELL=/bin/sh flock f -c 'echo "${BASH_VERSION:-none}"')" = "$(/bin/sh -c 'echo "${BASH_VERSION:-none}"')" ]; echo $?
SHELL=$(command -v bash) flock f -c 'echo "${BASH_VERSION:+bash}"'
#> 0
#> bash

### c-argv0-of-the-shell
# needs: proc
printf '%s\n' '#!/bin/sh' 'tr "\0" "\n" </proc/$$/cmdline' >mysh
chmod +x mysh
SHELL=$PWD/mysh flock f -c 'echo hi'
#> /bin/sh
#> $DIR/mysh
#> -c
#> echo hi

### c-mistakes
flock f -ctrue; echo $?
flock f -nc 'echo hi'; echo $?
flock f -c 'echo a' b; echo $?
flock f '-c ' hi; echo $?
flock f '--command=echo hi'; echo $?
flock f --comm 'echo hi'; echo $?
#> 69
#> 69
#> 64
#> 69
#> 69
#> 69
#2> flock: failed to execute -ctrue: No such file or directory
#2> flock: failed to execute -nc: No such file or directory
#2> flock: -c requires exactly one command argument
#2> flock: failed to execute -c : No such file or directory
#2> flock: failed to execute --command=echo hi: No such file or directory
#2> flock: failed to execute --comm: No such file or directory
# differs: a second line says what to do
#> 69
#> 69
#> 64
#> 69
#> 69
#> 69
#2> flock: failed to execute -ctrue: No such file or directory
#2> flock: -c is a word of its own, and so is the string after it: -c <string>
#2> flock: failed to execute -nc: No such file or directory
#2> flock: options go before the file: flock [options] <file> <command>
#2> flock: -c requires exactly one command argument
#2> flock: put the command into quotes: -c 'echo a b'
#2> flock: failed to execute -c : No such file or directory
#2> flock: -c is a word of its own, and so is the string after it: -c <string>
#2> flock: failed to execute --command=echo hi: No such file or directory
#2> flock: -c is a word of its own, and so is the string after it: -c <string>
#2> flock: failed to execute --comm: No such file or directory
#2> flock: -c is a word of its own, and so is the string after it: -c <string>

### c-is-an-argument-later
flock f echo -c hi
#> -c hi

### command-dashdash
flock f --command; echo $?
#> 64
#2> flock: --command requires exactly one command argument

### descriptor
exec 9>f
flock 9; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-unlock
exec 9>f
flock 9
flock -u 9; echo $?
flock -n f echo in
#> 0
#> in

### descriptor-read-only
touch f
exec 9<f
flock 9; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-read-only-shared
touch f
exec 9<f
flock -s 9; echo $?
flock -ns f echo in; echo $?
flock -n f echo in; echo $?
#> 0
#> in
#> 0
#> 1

### descriptor-write-only-shared
exec 9>f
flock -s 9; echo $?
flock -ns f echo in; echo $?
#> 0
#> in
#> 0

### descriptor-of-a-directory
mkdir d
exec 9<d
flock 9; echo $?
flock -n d echo in; echo $?
#> 0
#> 1

### descriptor-zero-and-one
touch f
flock 0 <f; echo $?
{ flock 0; flock -n f echo in; echo $?; } <f
flock 1 >f; echo $?
#> 0
#> 1
#> 0

### descriptor-ten
exec 10>f
flock 10; echo $?
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-conflict
exec 8>f 9>f
flock 8
for words in -n '-n -E 3' '-w .05' '-w .05 -E 3'; do flock $words 9; echo $?; done
#> 1
#> 3
#> 1
#> 3

### descriptor-duplicate-shares-the-lock
exec 8>f
exec 9>&8
flock 8
flock -n 9; echo $?
flock -u 9
flock -n f echo free
#> 0
#> free

### descriptor-closed-releases
exec 9>f
flock 9
exec 9>&-
flock -n f echo free; echo $?
#> free
#> 0

### descriptor-subshell-shares-the-lock
exec 9>f
flock 9
( flock -n 9; echo $? )
flock -n f echo in; echo $?
#> 0
#> 1

### descriptor-unlocked-in-a-subshell
exec 9>f
flock 9
( flock -u 9 )
flock -n f echo free; echo $?
#> free
#> 0

### descriptor-unlock-not-held
exec 9>f
flock -u 9; echo $?
#> 0

### descriptor-unlock-held-by-another
hold f
exec 9>f
flock -u 9; echo $?
flock -n f echo in; echo $?
release
#> 0
#> 1

### descriptor-of-a-pipe
# needs: linux
# starts: a FIFO may be a lifeline of the directory lock
# kernel: a pipe has a lock of its own and no name
echo x | { flock 0; echo $?; }
#> 0

### descriptor-of-a-device
# needs: full
# kernel: only the kernel can lock a device
flock -s 0 </dev/null; echo $?
#> 0

### descriptor-of-a-deleted-file
# kernel: a deleted file has no name
exec 9>f
rm f
flock 9; echo $?
flock -n 9; echo $?
#> 0
#> 0

### descriptor-two-of-different-files
exec 8>e 9>f
flock 8; flock 9
flock -n e echo e; flock -n f echo f
flock -u 8
flock -n e echo e; flock -n f echo f
#> e
#= 1

### number-as-file
flock 9 echo hi
ls
#> hi
#> 9

### descriptor-position-kept
printf 'one\ntwo\n' >f
exec 9<f
read -r line <&9
flock 9
read -r line <&9
echo "$line"
#> two

### file-in-a-directory
mkdir d
flock d/f echo hi
ls d
#> hi
#> f

### directory
mkdir d
flock d echo hi; echo $?
flock d/ echo hi; echo $?
flock d -c 'echo hi'
ls d
#> hi
#> 0
#> hi
#> 0
#> hi

### directory-conflict
mkdir d
hold d
flock -n d echo in; echo $?
release
flock -n d echo in; echo $?
#> 1
#> in
#> 0

### directory-dot
hold .
flock -n . echo in; echo $?
flock -n "$PWD" echo in; echo $?
release
#> 1
#> 1

### directory-shared
mkdir d
hold -s d
flock -ns d echo in; echo $?
flock -n d echo in; echo $?
release
#> in
#> 0
#> 1

### directory-and-its-file-are-two
mkdir d
hold d
flock -n d/f echo in; echo $?
release
#> in
#> 0
