#!/bin/sh
# dist.sh PROGRAM VERSION BINDIR OUTDIR [OS/ARCH...]: pack BINDIR/OS_ARCH/PROGRAM of flock, flock-etcd or flock-postgres
# with man pages, completions, README, CHANGELOG and LICENSE into OUTDIR/PROGRAM-VERSION-OS-ARCH.tar.gz, and
# BINDIR/windows_ARCH/flock.exe with a README of its own into a .zip.  The same input and
# SOURCE_DATE_EPOCH (default: the date of the source) give the same bytes.  Needs GNU tar (TAR=gtar elsewhere), and zip.
set -eu
umask 022
[ $# -ge 4 ] || { echo "usage: dist.sh PROGRAM VERSION BINDIR OUTDIR [OS/ARCH...]" >&2; exit 64; }
program=$1
shift
top=$(cd "$(dirname "$0")/.." && pwd)
version=$1 bindir=$2
mkdir -p "$3"
outdir=$(cd "$3" && pwd)
shift 3
SOURCE_DATE_EPOCH=$("$top/packaging/version.sh" date)
time=$("$top/packaging/date.sh" touch "$SOURCE_DATE_EPOCH")
export LC_ALL=C TZ=UTC0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
source=$top
[ "$program" = flock ] || source=$top/fleet/${program#flock-}

# add_unix DIR: the README, the manual pages and the completions.
add_unix() {
	mkdir "$1/man" "$1/completions"
	sed "s/@PROGRAM@/$program/g" "$top/packaging/install/tarball.md" >"$tmp/install.md"
	if [ ! -e "$source/man/flock-directory.7" ]; then
		sed -e '/install -d/s, /usr/local/share/man/man7$,,' -e '/man7/d' "$tmp/install.md" >"$tmp/without.md"
		mv "$tmp/without.md" "$tmp/install.md"
	fi
	documents=
	[ "$program" != flock ] || documents='doc/recipes.md doc/systems.md doc/network-filesystems.md'
	"$top/packaging/readme.sh" "$source/README.md" "$tmp/install.md" "man/$program.1" LICENSE CHANGELOG.md $documents >"$1/README.md"
	for file in $documents; do
		mkdir -p "$1/doc"
		"$top/packaging/readme.sh" "$top/$file" /dev/null ../README.md recipes.md systems.md network-filesystems.md >"$1/$file"
	done
	install -m 644 "$source"/man/*.[17] "$1/man"
	install -m 644 "$top/completions/flock.bash" "$top/completions/_flock" "$top/completions/flock.fish" "$1/completions"
}

for target; do
	os=${target%/*} arch=${target#*/}
	name=$program-$version-$os-$arch
	mkdir "$tmp/$name"
	install -m 644 "$top/CHANGELOG.md" "$tmp/$name"
	GOOS=$os GOARCH=$arch "$top/packaging/licenses.sh" "$program" >"$tmp/$name/LICENSE"
	if [ "$os" = windows ]; then
		install -m 755 "$bindir/${os}_$arch/$program.exe" "$tmp/$name"
		install -m 644 "$top/packaging/install/windows.md" "$tmp/$name/README.md"
	else
		install -m 755 "$bindir/${os}_$arch/$program" "$tmp/$name"
		add_unix "$tmp/$name"
	fi
	find "$tmp/$name" -exec touch -t "$time" {} +
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
