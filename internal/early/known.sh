#!/bin/sh
# known.sh FLOCK: has it checked if doc/go.md does not know the release of Go, and this system can run it.
cd "$(dirname "$0")/../.." || exit
release=$(go env GOVERSION | sed 's/^go\([0-9]*\.[0-9]*\).*/\1/')
grep -q "^| Go $release " doc/go.md && exit
[ "$(go env GOOS GOARCH)" = "$(go env GOHOSTOS GOHOSTARCH)" ] && exec sh internal/early/check.sh "$1" "$release"
echo "warning: nobody has tried flock with Go $release: see doc/go.md" >&2
