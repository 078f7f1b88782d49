#!/bin/sh
# dist.sh PROGRAM VERSION BINDIR OUTDIR OS/ARCH...: pack BINDIR/OS_ARCH/PROGRAM (.exe for
# Windows) of flock, flock-etcd or flock-postgres with man pages, completions, README, CHANGELOG and LICENSE into
# OUTDIR/PROGRAM-VERSION-OS-ARCH.tar.gz (.zip for Windows).  The same input and
# SOURCE_DATE_EPOCH (default: the date of the source) give the same bytes.  Needs GNU tar (TAR=gtar elsewhere), GNU touch, and zip.
set -eu
umask 022
[ $# -gt 4 ] || { echo "usage: dist.sh PROGRAM VERSION BINDIR OUTDIR OS/ARCH..." >&2; exit 64; }
program=$1
shift
top=$(cd "$(dirname "$0")/.." && pwd)
version=$1 bindir=$2
mkdir -p "$3"
outdir=$(cd "$3" && pwd)
shift 3
SOURCE_DATE_EPOCH=$("$top/packaging/version.sh" date)
export LC_ALL=C TZ=UTC

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for target; do
	os=${target%/*} arch=${target#*/}
	name=$program-$version-$os-$arch
	exe=
	[ "$os" != windows ] || exe=.exe
	mkdir -p "$tmp/$name/man" "$tmp/$name/completions"
	install -m 755 "$bindir/${os}_$arch/$program$exe" "$tmp/$name/$program$exe"
	source=$top
	[ "$program" = flock ] || source=$top/${program#flock-}
	"$top/packaging/readme.sh" "$source/README.md" "man/$program.1" LICENSE CHANGELOG.md >"$tmp/$name/README.md"
	install -m 644 "$top/CHANGELOG.md" "$tmp/$name"
	install -m 644 "$source/man/$program.1" "$tmp/$name/man"
	[ "$program" != flock ] || install -m 644 "$top/man/flock-directory.7" "$tmp/$name/man"
	GOOS=$os GOARCH=$arch "$top/packaging/licenses.sh" "$program" >"$tmp/$name/LICENSE"
	install -m 644 "$top/completions/flock.bash" "$top/completions/_flock" \
		"$top/completions/flock.fish" "$tmp/$name/completions"
	find "$tmp/$name" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	if [ "$os" = windows ]; then
		file=$name.zip
		rm -f "$outdir/$file"
		(cd "$tmp" && find "$name" | sort | zip -qX9 "$outdir/$file" -@)
	else
		file=$name.tar.gz
		"${TAR:-tar}" -C "$tmp" --format=ustar --sort=name --owner=0 --group=0 \
			--numeric-owner -cf "$tmp/tar" "$name"
		gzip -9nc "$tmp/tar" >"$outdir/$file"
	fi
done
