Messages and numbers as util-linux 2.43 words and reads them; older releases do it differently.

# since: 2.43
# alike: options are read before the way of locking is chosen

### common-mistakes
# needs: sh-c-n
flock f; echo $?
flock abc; echo $?
for w in 1,5 1s; do flock -w $w f true; echo $?; done
for word in --n --no --c --ver; do flock $word f true; echo $?; done
flock -c 'echo hi'; echo $?
flock -nc 'echo hi'; echo $?
flock -c 'echo hi' f; echo $?
flock f -c -n 'echo hi'; echo $?
flock f -c -- 'echo hi'; echo $?
flock -- -c 'echo hi'; ls
# script: dffbafc7d5e1
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> -c
#2> flock: invalid file descriptor: 'f'
#2> flock: invalid file descriptor: 'abc'
#2> flock: invalid timeout: '1,5'
#2> flock: invalid timeout: '1s'
#2> flock: unrecognized option '--n'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--no'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--c'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--ver'
#2> Try 'flock --help' for more information.
#2> flock: missing file descriptor, file or directory
#2> flock: unrecognized option '-nc'
#2> Try 'flock --help' for more information.
#2> flock: -c requires exactly one command argument
#2> flock: -c requires exactly one command argument
#2> flock: -c requires exactly one command argument
#2> flock: failed to execute echo hi: No such file or directory
# differs: a second line says what to do
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> -c
#2> flock: invalid file descriptor: 'f'
#2> flock: 'f' is not a descriptor number: a lock file needs a command: flock <file> <command>
#2> flock: invalid file descriptor: 'abc'
#2> flock: 'abc' is not a descriptor number: a lock file needs a command: flock <file> <command>
#2> flock: invalid timeout: '1,5'
#2> flock: a time has a decimal point: did you mean 1.5?
#2> flock: invalid timeout: '1s'
#2> flock: a time is a number of seconds, without a unit: did you mean 1?
#2> flock: unrecognized option '--n'
#2> Try 'flock --help' for more information.
#2> flock: '--n' is ambiguous: --nonblocking, --nb, --no-fork
#2> flock: unrecognized option '--no'
#2> Try 'flock --help' for more information.
#2> flock: '--no' is ambiguous: --nonblocking, --no-fork
#2> flock: unrecognized option '--c'
#2> Try 'flock --help' for more information.
#2> flock: '--c' is ambiguous: --conflict-exit-code, --close
#2> flock: unrecognized option '--ver'
#2> Try 'flock --help' for more information.
#2> flock: '--ver' is ambiguous: --verbose, --version
#2> flock: missing file descriptor, file or directory
#2> flock: -c goes after the file: flock <file> -c <command>
#2> flock: unrecognized option '-nc'
#2> Try 'flock --help' for more information.
#2> flock: -c is a word of its own, and so is the string after it: -c <string>
#2> flock: -c requires exactly one command argument
#2> flock: -c goes after the file: flock <file> -c <command>
#2> flock: -c requires exactly one command argument
#2> flock: options go before the file: flock [options] <file> <command>
#2> flock: -c requires exactly one command argument
#2> flock: options go before the file: flock [options] <file> <command>
#2> flock: failed to execute echo hi: No such file or directory
#2> flock: the quotes make it the name of one program: did you mean -c 'echo hi'?

### unknown-options
for word in -z -nz --shared=1; do flock $word f true; echo $?; done
# script: 34bcaeeb9d1f
#> 64
#> 64
#> 64
#2> flock: unrecognized option '-z'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '-nz'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--shared=1'
#2> Try 'flock --help' for more information.

### missing-values
for word in -w -nw --tim; do flock $word; echo $?; done
# script: 9e5781c8d8ac
#> 64
#> 64
#> 64
#2> flock: option '-w' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '-nw' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--tim' requires an argument
#2> Try 'flock --help' for more information.

### bad-timeouts
for w in abc '' '1 ' 1e; do flock -w "$w" f true; echo $?; done
flock -w1n f true; echo $?
# script: 4d8fcf3a272b
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid timeout: 'abc'
#2> flock: invalid timeout: ''
#2> flock: invalid timeout: '1 '
#2> flock: invalid timeout: '1e'
#2> flock: invalid timeout: '1n'

### bad-exit-codes
for e in 256 -1 abc 99999999999999999999; do flock -E $e f true; echo $?; done
# script: 5fc50be2f64d
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid exit code (allowed values: 0-255): '256': Numerical result out of range
#2> flock: invalid exit code (allowed values: 0-255): '-1': Numerical result out of range
#2> flock: invalid exit code (allowed values: 0-255): 'abc'
#2> flock: invalid exit code (allowed values: 0-255): '99999999999999999999': Numerical result out of range

### abbrev-co
flock --co f true
# script: 06fb731db31e
#2> flock: invalid exit code (allowed values: 0-255): 'f'
#= 64

### bad-descriptors
exec 9>f
for n in 99999999999 2147483648 '9 ' --; do flock "$n"; echo $?; done
flock -- -1; echo $?
# script: b0b3b0c01339
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid file descriptor: '99999999999': Numerical result out of range
#2> flock: invalid file descriptor: '2147483648': Numerical result out of range
#2> flock: invalid file descriptor: '9 '
#2> flock: missing file descriptor, file or directory
#2> flock: missing file descriptor, file or directory

### unknown-short-in-a-cluster
flock -n -zx f true; echo $?
flock -cn f; echo $?
flock -zn f true; echo $?
# script: 0435d597f215
#> 64
#> 64
#> 64
#2> flock: unrecognized option '-n'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option 'flock'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option 'flock'
#2> Try 'flock --help' for more information.
# differs: 2.43 names the word before the cluster, which is not wrong
#> 64
#> 64
#> 64
#2> flock: unrecognized option '-zx'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '-cn'
#2> Try 'flock --help' for more information.
#2> flock: -c is a word of its own, and so is the string after it: -c <string>
#2> flock: unrecognized option '-zn'
#2> Try 'flock --help' for more information.

### unknown-short-after-c
# derived: while a cluster is read, it takes the word before for the unknown option, here -c
flock -c -1w1 f true
# script: 25558827fe41
#2> flock: -c requires exactly one command argument
#= 64
# differs: 2.43 names the word before the cluster, which is not wrong
#2> flock: unrecognized option '-1w1'
#2> Try 'flock --help' for more information.
#= 64

### w-out-of-range
flock -w 1e5000 f true
# script: a778709eabcf
#2> flock: invalid timeout: '1e5000': Numerical result out of range
#= 64
# differs: it is for ever
#= 0

### odd-timeouts
# starts: numbers with blanks and signs, and exponents
for w in 1e3 ' 1' .5e0; do flock -w "$w" f true; echo $?; done
# script: f2b620e7a6b0
#> 0
#> 0
#> 0

### new-unknown-options
# derived: the same message for every unknown, ambiguous or misused option
for words in -5 '-n -z' '-n --zap' --bogus= --exclusive=1 --nonblocking=yes --nb= --sh=1 --fcntl=1 --close=3 --verbose=1; do
	flock $words f true; echo $?
done
for word in --help=me --version=2; do flock $word; echo $?; done
flock --comm 'echo hi' f; echo $?
# script: 1c021368d4ab
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: unrecognized option '-5'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '-z'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--zap'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--bogus='
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--exclusive=1'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--nonblocking=yes'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--nb='
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--sh=1'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--fcntl=1'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--close=3'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--verbose=1'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--help=me'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--version=2'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--comm'
#2> Try 'flock --help' for more information.

### new-ambiguous-options
# derived: the same message for every unknown, ambiguous or misused option
for word in --s --f --ve --c=3; do flock $word f true; echo $?; done
flock --v; echo $?
# script: faf9ee2688d6
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: unrecognized option '--s'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--f'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--ve'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--c=3'
#2> Try 'flock --help' for more information.
#2> flock: unrecognized option '--v'
#2> Try 'flock --help' for more information.
# differs: a second line says what to do
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: unrecognized option '--s'
#2> Try 'flock --help' for more information.
#2> flock: '--s' is ambiguous: --shared, --start
#2> flock: unrecognized option '--f'
#2> Try 'flock --help' for more information.
#2> flock: '--f' is ambiguous: --fcntl, --fd
#2> flock: unrecognized option '--ve'
#2> Try 'flock --help' for more information.
#2> flock: '--ve' is ambiguous: --verbose, --version
#2> flock: unrecognized option '--c=3'
#2> Try 'flock --help' for more information.
#2> flock: '--c' is ambiguous: --conflict-exit-code, --close
#2> flock: unrecognized option '--v'
#2> Try 'flock --help' for more information.
#2> flock: '--v' is ambiguous: --verbose, --version

### new-missing-values
# derived: the same message for every missing value
for word in -E -xnE --conflict-exit-code --wait --start --length --st; do flock $word; echo $?; done
# script: d2eac7b0dcf4
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: option '-E' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '-xnE' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--conflict-exit-code' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--wait' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--start' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--length' requires an argument
#2> Try 'flock --help' for more information.
#2> flock: option '--st' requires an argument
#2> Try 'flock --help' for more information.

### new-bad-timeouts
# derived: any text after the number is an error: invalid timeout
for w in '1 2' x 0xg . - -- ' ' 1:2; do flock -w "$w" f true; echo $?; done
for word in --timeout=abc --wait=abc --timeout=; do flock $word f true; echo $?; done
# script: e4557da3a088
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid timeout: '1 2'
#2> flock: invalid timeout: 'x'
#2> flock: invalid timeout: '0xg'
#2> flock: invalid timeout: '.'
#2> flock: invalid timeout: '-'
#2> flock: invalid timeout: '--'
#2> flock: invalid timeout: ' '
#2> flock: invalid timeout: '1:2'
#2> flock: invalid timeout: 'abc'
#2> flock: invalid timeout: 'abc'
#2> flock: invalid timeout: ''

### new-bad-exit-codes
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
for e in '' '5 ' 0x5 1.5 + -99999999999999999999 2147483648 one; do flock -E "$e" f true; echo $?; done
flock --conflict-exit-code=256 f true; echo $?
# script: 2bf920c52fa6
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid exit code (allowed values: 0-255): ''
#2> flock: invalid exit code (allowed values: 0-255): '5 '
#2> flock: invalid exit code (allowed values: 0-255): '0x5'
#2> flock: invalid exit code (allowed values: 0-255): '1.5'
#2> flock: invalid exit code (allowed values: 0-255): '+'
#2> flock: invalid exit code (allowed values: 0-255): '-99999999999999999999': Numerical result out of range
#2> flock: invalid exit code (allowed values: 0-255): '2147483648': Numerical result out of range
#2> flock: invalid exit code (allowed values: 0-255): 'one'
#2> flock: invalid exit code (allowed values: 0-255): '256': Numerical result out of range

### new-bad-descriptors
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
for n in 0x9 9.0 9x + 9223372036854775808; do flock -- $n; echo $?; done
# script: 439516676f22
#> 64
#> 64
#> 64
#> 64
#> 64
#2> flock: invalid file descriptor: '0x9'
#2> flock: invalid file descriptor: '9.0'
#2> flock: invalid file descriptor: '9x'
#2> flock: invalid file descriptor: '+'
#2> flock: invalid file descriptor: '9223372036854775808': Numerical result out of range

### new-fd-empty
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- ''
# script: ea4bcf05b124
#2> flock: invalid file descriptor: ''
#= 64
# differs: a second line says what to do
#2> flock: invalid file descriptor: ''
#2> flock: the name is empty: is a variable not set?
#= 64

### new-fd-2147483647
# derived: a descriptor that is not open: Bad file descriptor, 65
flock 2147483647
# script: b947f0a0e6d0
#2> flock: 2147483647: Bad file descriptor
#= 65
# differs: a second line says what to do
#2> flock: 2147483647: Bad file descriptor
#2> flock: is descriptor 2147483647 open?
#= 65

### new-start-bad-value-names-itself
# derived: the message is: invalid as start offset
flock --start -5 f true; echo $?
flock --start=1x f true; echo $?
# script: 031b5951035c
#> 64
#> 64
#2> flock: invalid as start offset: '-5': Invalid argument
#2> flock: invalid as start offset: '1x': Invalid argument

### new-length-bad-value-names-itself
# derived: the message is: invalid as length of lock range
flock --length 1x f true; echo $?
flock --length=K f true; echo $?
# script: 6f7c85d990a3
#> 64
#> 64
#2> flock: invalid as length of lock range: '1x': Invalid argument
#2> flock: invalid as length of lock range: 'K': Invalid argument
