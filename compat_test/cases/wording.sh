Messages and numbers as util-linux 2.43 words and reads them; older releases do it differently.

# since: 2.43
# alike: options are read before the way of locking is chosen

### common-mistakes
# needs: sh-c-n
# differs: a second line says what to do
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

### unknown-options
for word in -z -nz --shared=1; do flock $word f true; echo $?; done

### missing-values
for word in -w -nw --tim; do flock $word; echo $?; done

### bad-timeouts
for w in abc '' '1 ' 1e; do flock -w "$w" f true; echo $?; done
flock -w1n f true; echo $?

### bad-exit-codes
for e in 256 -1 abc 99999999999999999999; do flock -E $e f true; echo $?; done

### abbrev-co
flock --co f true

### bad-descriptors
exec 9>f
for n in 99999999999 2147483648 '9 ' --; do flock "$n"; echo $?; done
flock -- -1; echo $?

### unknown-short-in-a-cluster
# differs: 2.43 names the word before the cluster, which is not wrong
flock -n -zx f true; echo $?
flock -cn f; echo $?
flock -zn f true; echo $?

### unknown-short-after-c
# derived: while a cluster is read, it takes the word before for the unknown option, here -c
# differs: 2.43 names the word before the cluster, which is not wrong
flock -c -1w1 f true

### w-out-of-range
# differs: it is for ever
flock -w 1e5000 f true

### odd-timeouts
# starts: numbers with blanks and signs, and exponents
for w in 1e3 ' 1' .5e0; do flock -w "$w" f true; echo $?; done

### new-unknown-options
# derived: the same message for every unknown, ambiguous or misused option
for words in -5 '-n -z' '-n --zap' --bogus= --exclusive=1 --nonblocking=yes --nb= --sh=1 --fcntl=1 --close=3 --verbose=1; do
	flock $words f true; echo $?
done
for word in --help=me --version=2; do flock $word; echo $?; done
flock --comm 'echo hi' f; echo $?

### new-ambiguous-options
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
for word in --s --f --ve --c=3; do flock $word f true; echo $?; done
flock --v; echo $?

### new-missing-values
# derived: the same message for every missing value
for word in -E -xnE --conflict-exit-code --wait --start --length --st; do flock $word; echo $?; done

### new-bad-timeouts
# derived: any text after the number is an error: invalid timeout
for w in '1 2' x 0xg . - -- ' ' 1:2; do flock -w "$w" f true; echo $?; done
for word in --timeout=abc --wait=abc --timeout=; do flock $word f true; echo $?; done

### new-bad-exit-codes
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
for e in '' '5 ' 0x5 1.5 + -99999999999999999999 2147483648 one; do flock -E "$e" f true; echo $?; done
flock --conflict-exit-code=256 f true; echo $?

### new-bad-descriptors
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
for n in 0x9 9.0 9x + 9223372036854775808; do flock -- $n; echo $?; done

### new-fd-empty
# differs: a second line says what to do
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- ''

### new-fd-2147483647
# differs: a second line says what to do
# derived: a descriptor that is not open: Bad file descriptor, 65
flock 2147483647

### new-start-bad-value-names-itself
# derived: the message is: invalid as start offset
flock --start -5 f true; echo $?
flock --start=1x f true; echo $?

### new-length-bad-value-names-itself
# derived: the message is: invalid as length of lock range
flock --length 1x f true; echo $?
flock --length=K f true; echo $?
