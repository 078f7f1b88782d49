#!/bin/sh
# portable.sh: runs the cases where an empty directory is in the place of /proc, as on a system that is not Linux. An
# ordinary user needs a user namespace for it.
cd "$(dirname "$0")" || exit
if [ "$(id -u)" = 0 ]; then
	hidden() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
else
	hidden() {
		unshare -c -m --keep-caps sh -c 'mount -t tmpfs none /proc && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' sh "$@"
	}
fi
if ! hidden true 2>/dev/null; then
	echo "test-portable: not run: /proc cannot be hidden here: $(hidden true 2>&1)"
	exit 0
fi
directory='|TestDirectory|TestBeyondDirectory'
if ! [ -s /etc/machine-id ]; then
	echo 'test-portable: without the directory lock: there is no /etc/machine-id, and nothing else tells the machine'
	directory=
fi
hidden sh ../completions/test.sh ../flock &
FLOCK_UNDER_TEST=../flock hidden ../build/compat.test -test.timeout 10m \
	-test.run "^(TestElsewhere|TestDemo|TestNative|TestBeyondNative|TestRecipes$directory)\$"
status=$?
wait $! && exit $status
