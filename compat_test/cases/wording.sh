Messages and numbers as util-linux 2.43 words and reads them; older releases do it differently.

# since: 2.43
# alike: options are read before the way of locking is chosen

### only-file
# differs: a second line says what to do
flock f

### only-dashdash
flock --

### unknown-short
flock -z f true

### unknown-short-cluster
flock -nz f true

### missing-w
flock -w

### missing-w-cluster
flock -nw

### missing-timeout-abbrev
flock --tim

### w-abc
flock -w abc f true

### w-empty
flock -w '' f true

### w-comma
# differs: a second line says what to do
flock -w 1,5 f true

### w-suffix
# differs: a second line says what to do
flock -w 1s f true

### w-attached-n
flock -w1n f true

### E-256
flock -E 256 f true

### E-neg
flock -E -1 f true

### E-abc
flock -E abc f true

### E-huge
flock -E 99999999999999999999 f true

### c-before-file
# differs: a second line says what to do
flock -c 'echo hi'

### c-before-file2
# differs: it also prints where to write -c
flock -c 'echo hi' f

### nc-cluster
# differs: a second line says what to do
flock -nc 'echo hi'

### abbrev-n
# differs: a second line says what to do
flock --n f true

### abbrev-no
# differs: a second line says what to do
flock --no f true

### abbrev-c
# differs: a second line says what to do
flock --c f true

### abbrev-co
flock --co f true

### abbrev-ver
# differs: a second line says what to do
flock --ver f true

### flag-eq
flock --shared=1 f true

### fd-abc
# differs: a second line says what to do
flock abc

### fd-neg
flock -- -1

### fd-huge
flock 99999999999

### fd-2147483648
flock 2147483648

### fd-trail
exec 9>f
flock '9 '

### c-after-file-then-option
# differs: a second line says what to do
flock f -c -n 'echo hi'

### c-after-file-then-dashdash
# differs: a second line says what to do
flock f -c -- 'echo hi'

### dashdash-then-c-is-a-file
# differs: a second line says what to do
flock -- -c 'echo hi'; ls

### unknown-short-before-x
# differs: 2.43 names the word before the cluster, which is not wrong
flock -n -zx f true

### unknown-c-in-a-cluster
# differs: 2.43 names the word before the cluster, which is not wrong
flock -cn f

### unknown-short-after-c
# derived: while a cluster is read, it takes the word before for the unknown option, here -c
# differs: 2.43 names the word before the cluster, which is not wrong
flock -c -1w1 f true

### w-out-of-range
# differs: it is for ever
flock -w 1e5000 f true

### w-exponent
# starts: numbers with blanks and signs, and exponents
flock -w 1e3 f true

### w-blank-before
# starts: numbers with blanks and signs, and exponents
flock -w ' 1' f true

### w-blank-behind
flock -w '1 ' f true

### w-no-exponent
flock -w 1e f true

### w-fraction
# starts: numbers with blanks and signs, and exponents
flock -w .5e0 f true

### new-unknown-short-first-in-cluster
# differs: 2.43 names the word before the cluster, which is not wrong
flock -zn f true

### new-unknown-digit
# derived: the same message for every unknown, ambiguous or misused option
flock -5 f true

### new-unknown-short-after-good
# derived: the same message for every unknown, ambiguous or misused option
flock -n -z f true

### new-unknown-long-after-good
# derived: the same message for every unknown, ambiguous or misused option
flock -n --zap f true

### new-unknown-long-empty-value
# derived: the same message for every unknown, ambiguous or misused option
flock --bogus= f true

### new-ambiguous-s
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
flock --s f true

### new-ambiguous-f
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
flock --f f true

### new-ambiguous-v
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
flock --v

### new-ambiguous-ve
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
flock --ve f true

### new-ambiguous-with-value
# derived: the same message for every unknown, ambiguous or misused option
# differs: a second line says what to do
flock --c=3 f true

### new-value-for-exclusive
# derived: the same message for every unknown, ambiguous or misused option
flock --exclusive=1 f true

### new-value-for-nonblocking
# derived: the same message for every unknown, ambiguous or misused option
flock --nonblocking=yes f true

### new-value-for-nb
# derived: the same message for every unknown, ambiguous or misused option
flock --nb= f true

### new-value-for-abbreviation
# derived: the same message for every unknown, ambiguous or misused option
flock --sh=1 f true

### new-value-for-fcntl
# derived: the same message for every unknown, ambiguous or misused option
flock --fcntl=1 f true

### new-value-for-help
# derived: the same message for every unknown, ambiguous or misused option
flock --help=me

### new-value-for-version
# derived: the same message for every unknown, ambiguous or misused option
flock --version=2

### new-value-for-close
# derived: the same message for every unknown, ambiguous or misused option
flock --close=3 f true

### new-value-for-verbose
# derived: the same message for every unknown, ambiguous or misused option
flock --verbose=1 f true

### new-command-is-no-long-option
# derived: the same message for every unknown, ambiguous or misused option
flock --comm "echo hi" f

### new-missing-E
# derived: the same message for every missing value
flock -E

### new-missing-E-in-cluster
# derived: the same message for every missing value
flock -xnE

### new-missing-conflict
# derived: the same message for every missing value
flock --conflict-exit-code

### new-missing-wait
# derived: the same message for every missing value
flock --wait

### new-missing-start
# derived: the same message for every missing value
flock --start

### new-missing-length
# derived: the same message for every missing value
flock --length

### new-missing-start-abbrev
# derived: the same message for every missing value
flock --st

### new-timeout-two-numbers
# derived: any text after the number is an error: invalid timeout
flock -w '1 2' f true

### new-timeout-x
# derived: any text after the number is an error: invalid timeout
flock -w 'x' f true

### new-timeout-0x
# derived: any text after the number is an error: invalid timeout
flock -w '0xg' f true

### new-timeout-dot
# derived: any text after the number is an error: invalid timeout
flock -w '.' f true

### new-timeout-sign
# derived: any text after the number is an error: invalid timeout
flock -w '-' f true

### new-timeout-dashes
# derived: any text after the number is an error: invalid timeout
flock -w '--' f true

### new-timeout-blank
# derived: any text after the number is an error: invalid timeout
flock -w ' ' f true

### new-timeout-trailing-blank
# derived: any text after the number is an error: invalid timeout
flock -w '1 ' f true

### new-timeout-e
# derived: any text after the number is an error: invalid timeout
flock -w '1e' f true

### new-timeout-newline-free
# derived: any text after the number is an error: invalid timeout
flock -w '1:2' f true

### new-timeout-long-abc
# derived: any text after the number is an error: invalid timeout
flock --timeout=abc f true

### new-timeout-wait-abc
# derived: any text after the number is an error: invalid timeout
flock --wait=abc f true

### new-timeout-long-empty
# derived: any text after the number is an error: invalid timeout
flock --timeout= f true

### new-E-empty
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '' f true

### new-E-trailing-blank
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '5 ' f true

### new-E-hex
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '0x5' f true

### new-E-fraction
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '1.5' f true

### new-E-sign
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '+' f true

### new-E-minus-huge
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '-99999999999999999999' f true

### new-E-just-past-int
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E '2147483648' f true

### new-E-word
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock -E 'one' f true

### new-E-long-256
# derived: base 10 as strtol reads it, no text after it, 0-255, range errors have a message of their own
flock --conflict-exit-code=256 f true

### new-fd-hex
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '0x9'

### new-fd-fraction
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9.0'

### new-fd-empty
# differs: a second line says what to do
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- ''

### new-fd-letters
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9x'

### new-fd-sign
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '+'

### new-fd-just-past-long
# derived: base 10 as strtol reads it, no text after it, range errors have a message of their own
flock -- '9223372036854775808'

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
