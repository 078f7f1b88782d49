#!/bin/sh
# as-user.sh COMMAND...: runs a command as an ordinary user with an empty home, in a copy of the source without what was
# built. Root runs it; whoever is an ordinary user already runs the command as it is.
set -eu
[ "$(id -u)" -eq 0 ] || exec "$@"
cd "$(dirname "$0")/.."
user=flock-test
home=$(mktemp -d)
trap 'userdel $user; rm -rf "$home"' EXIT
useradd --home-dir "$home" --no-create-home --shell /bin/sh $user
cp -R . "$home/flock"
chown -R $user: "$home"
# What root has built is not built again: the user has links to that, and may add to it.
if cp -Rl "$(go env GOCACHE)" "$home/built" 2>/dev/null; then
	find "$home/built" -maxdepth 1 -type f -delete # when it was used last
	find "$home/built" -type d -exec chown $user: {} +
else
	rm -rf "$home/built" # it is on another filesystem
fi
go=$(dirname "$(command -v go)")
env -i HOME="$home" USER=$user GOCACHE="$home/built" PATH="$go:/usr/local/bin:/usr/bin:/bin" GOPROXY="$(go env GOPROXY)" \
	GOTOOLCHAIN="$(go env GOTOOLCHAIN)" ${FLOCK_TEST_LONG:+FLOCK_TEST_LONG=$FLOCK_TEST_LONG} \
	setpriv --reuid $user --regid $user --init-groups sh -c 'cd "$HOME/flock" && make -s clean && exec "$@"' sh "$@"
