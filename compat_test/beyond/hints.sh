The second line after common mistakes says what to do.

# alike: a hint follows an error of any kind of lock

### hint-not-executable
printf 'echo\n' >x
flock f ./x; echo $?
#> flock: failed to execute ./x: Permission denied
#> flock: it is not executable: chmod +x ./x, or give its interpreter: sh ./x
#> 69
chmod +x x
flock f x; echo $?
#> flock: failed to execute x: No such file or directory
#> flock: the current directory is not in PATH: did you mean ./x?
#> 69

### hint-no-interpreter
printf '#! /no/such -e\n' >y
printf '#!/bin/sh\r\n' >z
chmod +x y z
flock f ./y; echo $?
#> flock: failed to execute ./y: No such file or directory
#> flock: it is there, but its interpreter /no/such is not
#> 69
flock f ./z
#> flock: failed to execute ./z: No such file or directory
#> flock: its lines end with a carriage return, as on Windows: remove them with tr -d '\r'
PATH=$PWD:$PATH flock f z; echo $?
#> flock: failed to execute z: No such file or directory
#> flock: its lines end with a carriage return, as on Windows: remove them with tr -d '\r'
#> 69

### hint-quoted-tilde
flock '~/f' true; echo $?
#> flock: cannot open lock file ~/f: No such file or directory
#> flock: the quotes keep the shell from replacing ~ by the home directory
#> 66
flock f '~/x'; echo $?
#> flock: failed to execute ~/x: No such file or directory
#> flock: the quotes keep the shell from replacing ~ by the home directory
#> 69

### hint-a-variable
flock f A=1 true; echo $?
#> flock: failed to execute A=1: No such file or directory
#> flock: to set a variable for the command: env A=1 <command>
#> 69

### hint-which-backends-there-are
# needs: own-path
backend_program here one; backend_program here two; backend_program here go
backend_program here native; mkdir here/flock-dir9
cp -L "$(command -v flock)" here/flock
PATH=$PWD/here here/flock --backend won f true 2>&1 | sed 's/(.*//'
#> flock: invalid backend in --backend: 'won' 
#> flock: there are programs for: one, two

### hint-in-the-name-of-the-program
# needs: own-path

# The packages call it flock-go, beside the flock of util-linux.
cp -L "$(command -v flock)" flock-go
./flock-go f
#> flock-go: invalid file descriptor: 'f'
#> flock-go: 'f' is not a descriptor number: a lock file needs a command: flock-go <file> <command>
./flock-go -w -1 f true
#> flock-go: invalid timeout: '-1'
#> flock-go: without -w flock-go waits for ever
./flock-go f -n true
#> flock-go: failed to execute -n: No such file or directory
#> flock-go: options go before the file: flock-go [options] <file> <command>
./flock-go 9
#> flock-go: 9: Bad file descriptor
#> flock-go: is descriptor 9 open? ksh and mksh pass it on only with 9>&9, as in flock-go 9 9>&9
./flock-go --help | tail -1
#> For more details see flock-go(1).
ln -s flock-go "$(printf 'a\tb')"
"./$(printf 'a\tb')" --help | tail -1
#> For more details see a?b(1).

### version-says-what-it-was-built-with
flock --verbose --version | sed '1s/ [^ ]*$/ N/; s/go1[0-9.]* for [a-z]*\/[a-z0-9]*, with make/GO for SYSTEM, with make/'
#> flock from util-linux 2.42 (compatible with it, in Go): flock-go N
#> built by GO for SYSTEM, with make
flock --version --verbose | grep -c .
#> 1

### hint-an-option-behind-the-file

# -n was meant as an option, so flock does not wait.
exec 9>>f; flock 9
for word in -n --nonblock --wait=5 -z; do flock -w .01 f $word true; echo $?; done
#> flock: failed to execute -n: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
#> flock: failed to execute --nonblock: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
#> flock: failed to execute --wait=5: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
#> flock: failed to execute -z: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
flock -w .01 f --comm true; echo $?
#> flock: failed to execute --comm: No such file or directory
#> flock: -c is a word of its own, and so is the string after it: -c <string>
#> 69
# What does not wait, or can be executed or not for another reason, does as without the dash.
flock -n f -n true; echo $?
#> 1
flock -w .01 f -c true; echo $?
#> 1
: >-x; mkdir bin; printf '#!/bin/sh\necho "$@"\n' >bin/-n; chmod +x bin/-n
PATH=$PWD/bin:$PATH flock -w .01 f -n true; echo $?
#> 1
PATH=:$PATH flock -w .01 f -x; echo $?
#> 1
flock -u 9
PATH=$PWD/bin:$PATH flock f -n in
#> in
PATH=:$PATH flock f -x; echo $?
#> flock: failed to execute -x: Permission denied
#> flock: options go before the file: flock [options] <file> <command>
#> 69
flock f -n true; echo $?
#> flock: failed to execute -n: No such file or directory
#> flock: options go before the file: flock [options] <file> <command>
#> 69
# The file is opened first.
flock nowhere/f -n true; echo $?
#> flock: cannot open lock file nowhere/f: No such file or directory
#> 66
flock new -n true 2>/dev/null; [ -e new ] && echo made
#> made

### hint-an-empty-name
# needs: linux
flock --holders ''; echo $?
#> flock: cannot open lock file : No such file or directory
#> flock: the name is empty: is a variable not set?
#> 66

### verbose-with-options-that-only-we-have
# kernel: the directory lock has a line more
for option in --cooldown=.001 --backend=flock --backend=native; do flock $option --verbose f true; done
#> flock: getting lock took N seconds
#> flock: executing true
#> flock: getting lock took N seconds
#> flock: executing true
#> flock: getting lock took N seconds
#> flock: executing true
