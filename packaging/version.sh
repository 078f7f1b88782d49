#!/bin/sh
# version.sh: the version of this source.  version.sh date: its date, in seconds
# since 1970.  From git: the tag, or 0~gitDATE.COMMIT where there is none.  In a
# source tarball, which has no git: the file VERSION, and its date.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
if [ "${1-}" = date ]; then
	if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	elif [ -e "$top/.git" ]; then
		git -C "$top" log -1 --format=%ct
	else
		date -r "$top/VERSION" +%s
	fi
elif [ -e "$top/.git" ]; then
	git -C "$top" describe --tags --dirty 2>/dev/null ||
		echo "0~git$(TZ=UTC0 git -C "$top" log -1 --date=format-local:%Y%m%d --format=%cd.%h)$(
			git -C "$top" diff --quiet HEAD -- || echo .dirty)"
elif [ -e "$top/VERSION" ]; then
	cat "$top/VERSION"
else
	echo 0~unknown
fi
