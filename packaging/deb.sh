#!/bin/sh
# deb.sh PACKAGE VERSION ARCH BINARY OUTDIR: make OUTDIR/PACKAGE_VERSION_ARCH.deb of
# flock-go, flock-etcd or flock-postgres, a static BINARY.  ARCH is Go's name or Debian's.  The same input and
# SOURCE_DATE_EPOCH (default: the date of the source) give the same bytes.
set -eu
umask 022
[ $# = 5 ] || { echo "usage: deb.sh PACKAGE VERSION ARCH BINARY OUTDIR" >&2; exit 64; }
package=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
export GOARCH="$2" # whose modules licenses.sh names
binary=$3 outdir=$4
case $2 in
386) arch=i386 ;;
arm) arch=armhf ;;
ppc64le) arch=ppc64el ;;
mips64le) arch=mips64el ;;
*) arch=$2 ;;
esac
version=$1
SOURCE_DATE_EPOCH=$("$here/version.sh" date)
export SOURCE_DATE_EPOCH
date=$("$here/date.sh" mail "$SOURCE_DATE_EPOCH")
time=$("$here/date.sh" touch "$SOURCE_DATE_EPOCH")

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/root" "$tmp/root/DEBIAN"
"$here/stage.sh" "$package" "$tmp/root" "$binary" \
	/usr/share/zsh/vendor-completions /usr/share/fish/vendor_completions.d debian
share=$tmp/root/usr/share
if [ "$package" = flock-go ]; then
	mkdir -p "$tmp/root/usr/sbin" "$share/man/man8"
	gzip -9nc "$here/debian/flock-go-divert.8" >"$share/man/man8/flock-go-divert.8.gz"
	install -m 755 "$here/debian/flock-go-divert" "$tmp/root/usr/sbin/flock-go-divert"
	install -m 755 "$here/debian/prerm" "$tmp/root/DEBIAN/prerm"
	# What flock-go-divert calls _flock: zsh reads from a file's first line for which commands it is.
	printf '#compdef flock\n_flock-go "$@"\n' >"$share/zsh/vendor-completions/flock-go.zsh"
fi
mkdir -p "$share/lintian/overrides"
sed "s/@PACKAGE@/$package/" "$here/debian/lintian-overrides" >"$share/lintian/overrides/$package"
{
	echo "$package ($version) unstable; urgency=medium"
	printf '\n  * The changes are in CHANGELOG.md.gz, beside this file.\n\n'
	echo " -- the flock authors <flock@example.org>  $date"
} | gzip -9nc >"$share/doc/$package/changelog.gz"
# Counted from the bytes of the files: disk usage differs between filesystems.
size=$(find "$tmp/root/usr" -type f -exec cat {} + | wc -c)
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$(((size + 1023) / 1024))/" \
	"$here/debian/$package.control.in" >"$tmp/root/DEBIAN/control"
(cd "$tmp/root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$tmp/root/DEBIAN/md5sums"
TZ=UTC0 find "$tmp/root" -exec touch -t "$time" {} +
mkdir -p "$outdir"
dpkg-deb --root-owner-group -Zxz --build "$tmp/root" "$outdir/${package}_${version}_$arch.deb"
