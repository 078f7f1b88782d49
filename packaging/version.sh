#!/bin/sh
# version.sh: the version of this source.  version.sh date: its date, in seconds
# since 1970.  From git: the tag, or 0~gitDATE.COMMIT where there is none.  In a
# source tarball, which has no git: the file VERSION, and its date.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

# Run git only if this tree itself is a repository, not if it is inside of one.
ours() {
	[ -e "$top/.git" ] && git -C "$top" "$@" 2>/dev/null
}

if [ "${1-}" = date ]; then
	if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	elif ! ours log -1 --format=%ct; then
		[ -e "$top/VERSION" ] && date -r "$top/VERSION" +%s || date -r "$top/go.mod" +%s
	fi
elif ours describe --tags --dirty; then
	:
elif commit=$(TZ=UTC0 ours log -1 --date=format-local:%Y%m%d --format=%cd.%h); then
	ours diff --quiet HEAD -- || commit=$commit.dirty
	echo "0~git$commit"
elif [ -e "$top/VERSION" ]; then
	cat "$top/VERSION"
else
	echo 0~unknown
fi
