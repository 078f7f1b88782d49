#!/bin/sh
# apk.sh PACKAGE VERSION ARCH BINARY OUTDIR: make OUTDIR/PACKAGE-VERSION-r0-ARCH.apk of flock-go, flock-etcd or
# flock-postgres for Alpine. It is not signed: "apk add --allow-untrusted FILE" installs it. ARCH is Go's name or
# Alpine's. As with deb.sh, the same input gives the same bytes. Needs GNU tar and sha256sum.
#
# A package of apk (format 2) is two tar files, each compressed, one after the other: .PKGINFO, then the files. The first
# has no end mark, so that apk reads both as one. The second has a checksum with each file, in a header of pax(1).
set -eu
umask 022
[ $# = 5 ] || { echo "usage: apk.sh PACKAGE VERSION ARCH BINARY OUTDIR" >&2; exit 64; }
package=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
version=$("$here/version.sh" for apk "$1")-r0
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
rm -rf "$tmp/root/usr/lib/systemd" # Alpine has OpenRC
find "$tmp/root/usr" -depth -type d -empty -exec rmdir {} +
size=$(find "$tmp/root/usr" -type f -exec cat {} + | wc -c)

# pack OUT PATH TIME [HEADER]: add a file or directory of root to the tar file OUT. GNU tar adds a header of pax only to
# others, such as that of a time with a fraction, and only to a file that begins with one.
pack() {
	"${TAR:-tar}" -C "$tmp/root" --format=pax --pax-option="exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime${4+,$4}" \
		--mtime="@$3" --owner=root:0 --group=root:0 --no-recursion -rf "$1" "$2" 2>"$tmp/said" || {
		cat "$tmp/said" >&2
		exit 1
	}
}
(cd "$tmp/root" && LC_ALL=C find usr | LC_ALL=C sort) | while read -r path; do
	if [ -f "$tmp/root/$path" ]; then
		sum=$(sha1sum "$tmp/root/$path")
		pack "$tmp/data" "$path" "$SOURCE_DATE_EPOCH.5" "APK-TOOLS.checksum.SHA1:=${sum%% *}"
	else
		pack "$tmp/data" "$path" "$SOURCE_DATE_EPOCH.5"
	fi
done
gzip -9nc "$tmp/data" >"$tmp/data.gz"
hash=$(sha256sum "$tmp/data.gz")
cat >"$tmp/root/.PKGINFO" <<END
pkgname = $package
pkgver = $version
pkgdesc = $about
url = https://example.org/flock
builddate = $SOURCE_DATE_EPOCH
packager = the flock authors <flock@example.org>
size = $((size))
arch = $arch
license = $license
datahash = ${hash%% *}
END
pack "$tmp/control" .PKGINFO "$SOURCE_DATE_EPOCH"
# One block of header, and the file in whole blocks: without the end mark.
blocks=$((1 + ($(wc -c <"$tmp/root/.PKGINFO") + 511) / 512))
mkdir -p "$outdir"
{ head -c $((blocks * 512)) "$tmp/control" | gzip -9n; cat "$tmp/data.gz"; } >"$outdir/$package-$version-$arch.apk"
