#!/bin/sh
# apk.sh PACKAGE VERSION ARCH BINARY OUTDIR: make OUTDIR/PACKAGE-VERSION-alpine-ARCH.tar.gz of
# flock-go, flock-etcd or flock-postgres, laid out as an Alpine package is (paths from the root,
# .PKGINFO first), unsigned.
# Unpack it with: tar -xzf FILE -C / usr
# ARCH is Go's name or Alpine's.  As with deb.sh, the same input gives the same
# bytes.  Needs GNU tar.
set -eu
umask 022
[ $# = 5 ] || { echo "usage: apk.sh PACKAGE VERSION ARCH BINARY OUTDIR" >&2; exit 64; }
package=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
# Alpine writes 1.0.0_git20261121 where Debian writes 1.0.0~git20261121.
version=$(printf %s "$1" | sed 's/~git\([0-9]*\).*/_git\1/')
export GOARCH="$2" # whose modules licenses.sh names
binary=$3 outdir=$4
case $2 in
amd64) arch=x86_64 ;;
arm64) arch=aarch64 ;;
386) arch=x86 ;;
arm) arch=armhf ;;
loong64) arch=loongarch64 ;;
*) arch=$2 ;;
esac
case $package in
flock-go) license='MIT AND BSD-3-Clause' about='flock(1) with permits, cooldowns and a fallback without kernel locks' ;;
flock-etcd) license='MIT AND Apache-2.0 AND BSD-3-Clause' about='run a command under a lock in etcd that many machines share' ;;
flock-postgres) license='MIT AND BSD-3-Clause' about='run a command under a lock in PostgreSQL that many machines share' ;;
esac
SOURCE_DATE_EPOCH=$("$here/version.sh" date)

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/root"
"$here/stage.sh" "$package" "$tmp/root" "$binary" \
	/usr/share/zsh/site-functions /usr/share/fish/vendor_completions.d
size=$(find "$tmp/root/usr" -type f -exec cat {} + | wc -c)
cat >"$tmp/root/.PKGINFO" <<END
pkgname = $package
pkgver = $version-r0
pkgdesc = $about
builddate = $SOURCE_DATE_EPOCH
size = $((size))
arch = $arch
license = $license
END
mkdir -p "$outdir"
"${TAR:-tar}" -C "$tmp/root" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
	--owner=0 --group=0 --numeric-owner -cf "$tmp/tar" .PKGINFO usr
gzip -9nc "$tmp/tar" >"$outdir/$package-$version-alpine-$arch.tar.gz"
