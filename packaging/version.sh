#!/bin/sh
# version.sh: the version of this source, as dpkg and rpm write it.
# version.sh for apk VERSION: that version as Alpine writes it.
# version.sh date: the date of this source, in seconds since 1970.
#
# The file VERSION has the release that this source is, or is to become. Git knows whether it is that release, which is
# tagged; if not, ~gitDATE.COMMIT is added, which sorts before the release. What source.sh has packed says what it is in
# packaging/source-version. Any other tree without git may be anything: it is VERSION~git.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

# Run git only if this tree itself is a repository, not if it is inside of one.
ours() {
	[ -e "$top/.git" ] && git -C "$top" "$@" 2>/dev/null
}

release=$(cat "$top/VERSION")
case ${1-}${2+ $2} in
date)
	if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	else
		ours log -1 --format=%ct || date -r "$top/VERSION" +%s
	fi
	exit
	;;
'for apk') # has no letters but a few suffixes, of which _git would be later than the release
	printf '%s\n' "$3" | sed 's/~git\([0-9]*\).*/_pre\1/'
	exit
	;;
esac
if [ ! -e "$top/.git" ]; then
	cat "$top/packaging/source-version" 2>/dev/null || echo "$release~git"
elif ! commit=$(TZ=UTC0 ours log -1 --date=format-local:%Y%m%d --format=%cd.%h); then
	echo "$release~git" # git is missing, or refuses to answer: the tree is another user's
elif ! ours diff --quiet HEAD --; then
	echo "$release~git$commit.dirty"
elif [ "$(ours describe --tags --exact-match --match "v$release")" = "v$release" ]; then
	echo "$release"
else
	echo "$release~git$commit"
fi
