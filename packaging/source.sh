#!/bin/sh
# source.sh VERSION OUTDIR: pack the source, with its version, into
# OUTDIR/flock-VERSION.tar.gz, and write beside it what makes packages of that: an RPM
# spec, a PKGBUILD and a Homebrew formula.  As with dist.sh, the same input gives
# the same bytes.  Needs GNU tar.
set -eu
umask 022
[ $# = 2 ] || { echo "usage: source.sh VERSION OUTDIR" >&2; exit 64; }
top=$(cd "$(dirname "$0")/.." && pwd)
version=$1
name=flock-$version
mkdir -p "$2"
outdir=$(cd "$2" && pwd)
date=$("$top/packaging/version.sh" date)
day=$("$top/packaging/date.sh" rpm "$date")

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$top"
if ! { [ -e .git ] && git ls-files -z >"$tmp/files" 2>/dev/null; }; then
	find . \( -path ./build -o -path ./dist -o -path ./flock -o -path ./flock-etcd -o -path ./flock-postgres -o \
		-path ./fleet/etcd/man -o -path ./fleet/postgres/man -o -path ./packaging/source-version -o -path ./.git \) -prune \
		-o -type f -print | sed 's,^\./,,' | tr '\n' '\0' >"$tmp/files"
fi
mkdir "$tmp/$name"
"${TAR:-tar}" -cf - --null --files-from "$tmp/files" | "${TAR:-tar}" -C "$tmp/$name" -xf -
echo "$version" >"$tmp/$name/packaging/source-version"
"${TAR:-tar}" -C "$tmp" --format=ustar --sort=name --mtime="@$date" --mode=u+rw,go+r,go-w \
	--owner=0 --group=0 --numeric-owner -cf "$tmp/tar" "$name"
gzip -9nc "$tmp/tar" >"$outdir/$name.tar.gz"

sum=$(sha256sum "$outdir/$name.tar.gz")
for template in flock-go.spec PKGBUILD flock-go.rb; do
	sed -e "s/@VERSION@/$version/" -e "s/@SHA256@/${sum%% *}/" \
		-e "s/@DATE@/$day/" "packaging/$template.in" >"$outdir/$template"
done
