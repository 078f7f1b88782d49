#!/bin/sh
# deb.sh VERSION ARCH BINARY OUTDIR: make OUTDIR/flock-go_VERSION_ARCH.deb of a
# static BINARY.  ARCH is Go's name or Debian's.  The same input and
# SOURCE_DATE_EPOCH (default: the date of the source) give the same bytes.
set -eu
umask 022
[ $# = 4 ] || { echo "usage: deb.sh VERSION ARCH BINARY OUTDIR" >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd)
binary=$3 outdir=$4
case $2 in
386) arch=i386 ;;
arm) arch=armhf ;;
ppc64le) arch=ppc64el ;;
mips64le) arch=mips64el ;;
*) arch=$2 ;;
esac
# A Debian version begins with a digit, and a hyphen would end the upstream part.
version=$(printf %s "${1#v}" | tr - +)
case $version in [0-9]*) ;; *) version=0~$version ;; esac
SOURCE_DATE_EPOCH=$("$here/version.sh" date)
export SOURCE_DATE_EPOCH

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/root" "$tmp/root/DEBIAN"
"$here/stage.sh" "$tmp/root" "$binary" \
	/usr/share/zsh/vendor-completions /usr/share/fish/vendor_completions.d
share=$tmp/root/usr/share
mkdir -p "$tmp/root/usr/sbin" "$share/man/man8" "$share/lintian/overrides"
gzip -9nc "$here/debian/flock-go-divert.8" >"$share/man/man8/flock-go-divert.8.gz"
install -m 644 "$here/debian/lintian-overrides" "$share/lintian/overrides/flock-go"
{
	echo "flock-go ($version) unstable; urgency=medium"
	printf '\n  * The changes are in the log of the source.\n\n'
	echo " -- the flock authors <flock@example.org>  $(LC_ALL=C date -Ru -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9nc >"$share/doc/flock-go/changelog.gz"
install -m 755 "$here/debian/flock-go-divert" "$tmp/root/usr/sbin/flock-go-divert"
install -m 755 "$here/debian/prerm" "$tmp/root/DEBIAN/prerm"
# Counted from the bytes of the files: disk usage differs between filesystems.
size=$(find "$tmp/root/usr" -type f -exec cat {} + | wc -c)
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$(((size + 1023) / 1024))/" \
	"$here/debian/control.in" >"$tmp/root/DEBIAN/control"
find "$tmp/root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$outdir"
dpkg-deb --root-owner-group -Zxz --build "$tmp/root" "$outdir/flock-go_${version}_$arch.deb"
