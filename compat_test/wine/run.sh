#!/bin/sh
# Tests flock.exe under Wine: the command forms, and many processes at once.
set -eu
if ! command -v wine >/dev/null; then
	echo "test-wine: missing: wine (in Debian's packages wine and wine64)" >&2
	exit 1
fi

build=$PWD/build/windows_amd64
mkdir -p "$build"
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0
go build -trimpath -tags flock_linkname -ldflags '-s -w -checklinkname=0' -o "$build/flock.exe" .
go test -c -o "$build/flock_test.exe" .
go test -c -o "$build/fallback_test.exe" ./fallback

unset GOOS GOARCH

# a separate Wine directory; no display, no sound
export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
unset DISPLAY
[ -d "$WINEPREFIX/drive_c" ] || wine wineboot --init
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
[ -e "$library" ] || go run ./compat_test/wine >"$library"

status=0
export FLOCK_UNDER_TEST="Z:$build/flock.exe"
cd "$build"
wine ./flock_test.exe -test.v -test.parallel 4 -test.timeout 15m || status=1
wine ./fallback_test.exe -test.v -test.short -test.skip 'Interleaving|Recipes' -test.timeout 15m || status=1

exit $status
