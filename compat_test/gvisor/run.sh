#!/bin/sh
# run.sh [TEST...]: runs tests in gVisor, a kernel of its own with the system calls of Linux; by default the cases, with kernel
# locks and with the directory lock, and a torture of that. Its program, runsc, is built from its Go modules. What is written
# there is lost at the end. If an answer is not the recorded one, the installed util-linux flock is asked there: what it
# answers, too, is gVisor's. FLOCK_TEST_GVISOR_LIMIT is the time limit, by default 30m.
set -eu
limit=${FLOCK_TEST_GVISOR_LIMIT:-30m}
[ $# -gt 0 ] || set -- TestEarly TestNative TestDirectory TestBeyondNative TestBeyondDirectory TestTortureInShells
tests=$(echo "$*" | tr ' ' '|')
[ "$(go env GOOS)" = linux ] || { echo "test-gvisor: not run: gVisor is for Linux" >&2; exit 1; }

# gVisor locks no devices, and TestEarly leaves no room for the runtime, which would say so.
noDevices='^TestEarly$/./^(device|immutable-dev-full|descriptor-of-a-device)$'

mkdir -p build
build=$PWD/build
(cd compat_test/gvisor && CGO_ENABLED=0 go build -o "$build/runsc" gvisor.dev/gvisor/runsc)
(cd compat_test && CGO_ENABLED=0 go test -c -o "$build/compat.test" .)
rootless=
[ "$(id -u)" = 0 ] || rootless=--rootless

# Few cases at a time, because a process costs far more there. The output goes through a pipe: in a file, runsc would write
# over what others have written.
"$build/runsc" $rootless --network=none --platform=systrap 'do' env FLOCK_TEST_KERNEL=gVisor FLOCK_UNDER_TEST="$PWD/flock" \
	sh -c 'cd compat_test && "$1" -test.parallel 4 -test.timeout "$2" -test.run "^($3)\$" -test.skip "$4"; echo "status $?"' \
	sh "$build/compat.test" "$limit" "$tests" "$noDevices" 2>&1 | cat >"$build/gvisor.log"
sed '/^intended difference/d; /: not run without kernel locks: /d; /: skipped: /d' "$build/gvisor.log" | cat -s
grep -q '^status 0$' "$build/gvisor.log"
