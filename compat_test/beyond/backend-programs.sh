A backend that flock does not know is a program, flock-NAME.

### backend-program-in-path
backend_program a one; backend_program b one; backend_program b two3
PATH=$PWD/a:$PWD/b:$PATH
flock --backend one f true; echo $?
#> <$DIR/a/flock-one><--backend><one><f><true>
#> 7
flock --backend=two3 -n 'a  b' '' '*' "$(printf 'line\nend')"; echo $?
#> <$DIR/b/flock-two3><--backend=two3><-n><a  b><><*><line
#> end>
#> 7
flock --back one 9; echo $?
#> <$DIR/a/flock-one><--back><one><9>
#> 7
flock --backend one; echo $?
#> <$DIR/a/flock-one><--backend><one>
#> 7
ls
#> a
#> b

### backend-program-in-the-folder-of-flock
# needs: own-path
backend_program path one; backend_program own one; backend_program path two
cp -L "$(command -v flock)" own/flock
PATH=$PWD/path:$PATH
own/flock --backend one f true; echo $?
#> <$DIR/own/flock-one><--backend><one><f><true>
#> 7
own/flock --backend two f true; echo $?
#> <$DIR/path/flock-two><--backend><two><f><true>
#> 7
# by a link the folder is that of the program
ln -s own/flock flock
./flock --backend one; PATH=. flock --backend one
#> <$DIR/own/flock-one><--backend><one>
#> <$DIR/own/flock-one><--backend><one>
# no name of another file
mkdir own/flock-two
own/flock --backend two
#> <$DIR/path/flock-two><--backend><two>

### backend-program-options-after-it
backend_program . one; PATH=$PWD:$PATH
for words in '--help' '--version' '--own --options' '-w x' '--backend native' '--backend'; do flock -n --backend one $words; done
#> <$DIR/flock-one><-n><--backend><one><--help>
#> <$DIR/flock-one><-n><--backend><one><--version>
#> <$DIR/flock-one><-n><--backend><one><--own><--options>
#> <$DIR/flock-one><-n><--backend><one><-w><x>
#> <$DIR/flock-one><-n><--backend><one><--backend><native>
#> <$DIR/flock-one><-n><--backend><one><--backend>
# before it they are flock's
flock --own --backend one f true; echo $?
#> flock: unrecognized option '--own'
#> Try 'flock --help' for more information.
#> 64
flock -w x --backend one f true; echo $?
#> flock: invalid timeout: 'x'
#> 64
flock --help --backend one | grep -c '^Usage'
#> 1
flock f echo --backend one
#> --backend one

### backend-program-by-variable
backend_program . one; PATH=$PWD:$PATH
export FLOCK_BACKEND=one
flock f true; echo $?
#> <$DIR/flock-one><f><true>
#> 7
flock 9; flock -xn --fd 9 true; flock f -c 'exit 3'; flock -F f true; flock --permits 2 f true
#> <$DIR/flock-one><9>
#> <$DIR/flock-one><-xn><--fd><9><true>
#> <$DIR/flock-one><f><-c><exit 3>
#> <$DIR/flock-one><-F><f><true>
#> <$DIR/flock-one><--permits><2><f><true>
# what a program makes of its operands is for the program
flock -u name
#> <$DIR/flock-one><-u><name>
# the option wins
for b in auto directory; do flock --backend $b -n f echo in by $b; done
#> in by auto
#> in by directory
backend_program . two
flock --backend two f true
#> <$DIR/flock-two><--backend><two><f><true>
# help and errors are flock's
flock --help | grep -c '^Usage'
#> 1
flock --version | grep -c util-linux
#> 1
flock --own f true; echo $?
#> flock: unrecognized option '--own'
#> Try 'flock --help' for more information.
#> 64
flock --fcntl f true; echo $?
#> flock: --fcntl, --start and --length cannot be combined with the backend one
#> 64
flock; echo $?
#> flock: not enough arguments
#> Try 'flock --help' for more information.
#> 64

### backend-program-lists-the-holders
# needs: proc
backend_program . one; PATH=$PWD:$PATH
flock --holders --backend one f; FLOCK_BACKEND=one flock --holders f; echo $?
#> <$DIR/flock-one><--holders><--backend><one><f>
#> <$DIR/flock-one><--holders><f>
#> 7
FLOCK_BACKEND=one flock --holders
#> <$DIR/flock-one><--holders>

### backend-program-missing
# needs: own-path
mkdir bin; cp -L "$(command -v flock)" bin/flock
bin/flock --backend nosuch f true; echo $?
#> flock: invalid backend in --backend: 'nosuch' (auto, native, flock, fcntl or directory; there is no flock-nosuch in $DIR/bin or in PATH)
#> 64
FLOCK_BACKEND=nosuch bin/flock f true; echo $?
#> flock: invalid backend in FLOCK_BACKEND: 'nosuch' (auto, native, flock, fcntl or directory; there is no flock-nosuch in $DIR/bin or in PATH)
#> 64
# names that no program can have
for name in Nosuch no-such ../x /bin/sh 'a b' 'ä'; do flock --backend "$name" f true; echo $?; done
#> flock: invalid backend in --backend: 'Nosuch' (auto, native, flock, fcntl or directory)
#> 64
#> flock: invalid backend in --backend: 'no-such' (auto, native, flock, fcntl or directory)
#> 64
#> flock: invalid backend in --backend: '../x' (auto, native, flock, fcntl or directory)
#> 64
#> flock: invalid backend in --backend: '/bin/sh' (auto, native, flock, fcntl or directory)
#> 64
#> flock: invalid backend in --backend: 'a b' (auto, native, flock, fcntl or directory)
#> 64
#> flock: invalid backend in --backend: 'ä' (auto, native, flock, fcntl or directory)
#> 64
# the directory in which it is called does not count
printf '#!/bin/sh\necho here\n' >flock-here; chmod +x flock-here
bin/flock --backend here f true; echo $?
#> flock: invalid backend in --backend: 'here' (auto, native, flock, fcntl or directory; there is no flock-here in $DIR/bin or in PATH)
#> 64
PATH=:$PATH bin/flock --backend here
#> here
ls
#> bin
#> flock-here

### backend-program-that-is-flock-itself
# needs: own-path
mkdir bin path; cp -L "$(command -v flock)" bin/flock-go; ln -s flock-go bin/flock; ln -s ../bin/flock path/flock-link
PATH=$PWD/path:$PATH
for program in bin/flock bin/flock-go; do $program --backend go f true; echo $?; done
#> flock-go: invalid backend in --backend: 'go' (auto, native, flock, fcntl or directory; flock-go is flock itself)
#> 64
#> flock-go: invalid backend in --backend: 'go' (auto, native, flock, fcntl or directory; flock-go is flock itself)
#> 64
FLOCK_BACKEND=link bin/flock f true; echo $?
#> flock-link: invalid backend in FLOCK_BACKEND: 'link' (auto, native, flock, fcntl or directory; flock-link is flock itself)
#> 64

### backend-program-that-cannot-be-executed
mkdir a b; PATH=$PWD/a:$PWD/b:$PATH
echo 'echo text' >a/flock-one
flock --backend one f true; echo $?
#> flock: failed to execute $DIR/a/flock-one: Permission denied
#> 69
# one in PATH behind it is executed, as for execvp(3)
echo '#!/bin/sh' >b/flock-one; echo 'echo second' >>b/flock-one; chmod +x b/flock-one
flock --backend one f true; echo $?
#> second
#> 0
echo '#!/no/such/interpreter' >a/flock-one; chmod +x a/flock-one
flock --backend one f true; echo $?
#> flock: failed to execute $DIR/a/flock-one: No such file or directory
#> 69
echo 'echo a script without its first line: "$@"' >a/flock-one
flock --backend one f true; echo $?
#> a script without its first line: --backend one f true
#> 0

### backend-program-is-the-same-process
printf '#!/bin/sh\necho $$ >pid; kill -TERM $$\n' >flock-one; chmod +x flock-one
PATH=$PWD:$PATH
flock --backend one & wait $!; echo $?
#> 143
[ "$(cat pid)" = $! ] && echo the same process
#> the same process
printf '#!/bin/sh\ncat\necho "$X" >&9\n' >flock-one
echo input | X=variable flock --backend one 9>f; cat f
#> input
#> variable

### backend-program-not-for-set-user-id
# needs: root setpriv own-path
# kernel: where a filter hides the locks of the kernel, the bits have no effect
mkdir bin; cp -L "$(command -v flock)" bin/flock; chmod 755 . bin
printf '#!/bin/sh\nid -u\n' >bin/flock-one; chmod 755 bin/flock-one
try() { setpriv --reuid 4711 --regid 4711 --clear-groups "$@"; echo $?; }
for mode in 4755 2755 6755; do
	chmod $mode bin/flock
	try bin/flock --backend one f true
done
#> flock: invalid backend in --backend: 'one' (auto, native, flock, fcntl or directory; a set-user-id or set-group-id flock runs no flock-one)
#> 64
#> flock: invalid backend in --backend: 'one' (auto, native, flock, fcntl or directory; a set-user-id or set-group-id flock runs no flock-one)
#> 64
#> flock: invalid backend in --backend: 'one' (auto, native, flock, fcntl or directory; a set-user-id or set-group-id flock runs no flock-one)
#> 64
FLOCK_BACKEND=one try bin/flock f true
#> flock: FLOCK_BACKEND cannot be set for a set-user-id or set-group-id program: its user could get past the lock
#> 64
chmod 755 bin/flock
try bin/flock --backend one f true
#> 4711
#> 0
