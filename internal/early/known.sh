#!/bin/sh
# known.sh [RELEASE]: warn if doc/go.md does not know the release of Go, 1.26 or such; default: the one that builds.
set -eu
cd "$(dirname "$0")/../.."
release=${1-$(go env GOVERSION | sed 's/^go\([0-9]*\.[0-9]*\).*/\1/')}
grep -q "^| Go $release " doc/go.md || cat >&2 <<END
warning: nobody has tried flock with Go $release: see doc/go.md. These tests prove that it works:
    go test ./internal/early && go test ./compat_test -run 'TestEarly|TestNative'
END
