#!/bin/sh
# test.sh BINARY: make the packages of this system, and check them.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
binary=$(cd "$(dirname "$1")" && pwd)/${1##*/}
for program in dpkg-deb zip sha256sum; do
	command -v $program >/dev/null || { echo "packaging: not checked: no $program"; exit 0; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0
fail() {
	echo "packaging: $*" >&2
	failed=1
}
version=$("$top/packaging/version.sh")
SOURCE_DATE_EPOCH=$("$top/packaging/version.sh" date)
export SOURCE_DATE_EPOCH

make_all() {
	mkdir -p build "$1"
	cp "$binary" build/flock-linux-amd64
	"$top/packaging/dist.sh" "$version" build "$1" linux/amd64
	"$top/packaging/source.sh" "$version" "$1"
	"$top/packaging/deb.sh" "$version" amd64 "$binary" "$1" >/dev/null
	"$top/packaging/apk.sh" "$version" amd64 "$binary" "$1"
}
make_all one
make_all two
(cd one && sha256sum *) >sums
(cd two && sha256sum --quiet -c ../sums) || fail 'the same source gives different bytes'
[ "$(wc -l <sums)" = 4 ] || fail "files: $(ls one)"

case $version in
[0-9v]*) ;;
*) fail "version $version" ;;
esac
[ "$(dpkg-deb -f one/*.deb Version)" = "$(printf %s "${version#v}" | tr - +)" ] || fail 'version of the .deb'
dpkg-deb -c one/*.deb >list
for file in bin/flock-go sbin/flock-go-divert share/man/man1/flock-go.1.gz share/man/man8/flock-go-divert.8.gz \
	share/doc/flock-go/changelog.gz share/doc/flock-go/copyright; do
	grep -q " ./usr/$file\$" list || fail "the .deb has no /usr/$file"
done
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning one/*.deb || fail lintian
else
	echo 'packaging: lintian is missing: .deb not checked with it'
fi
mkdir root
tar -xzf one/flock-go-*.tar.gz -C root usr
[ "$(ls -A root)" = usr ] || fail "the Alpine package also has: $(ls -A root)"
root/usr/bin/flock-go lock true || fail 'the packed program does not run'

# Without git the source has the same version and date, and gives the same bytes.
tar -xzf "one/flock-${version#v}.tar.gz"
cd "flock-${version#v}"
[ "$(packaging/version.sh)" = "${version#v}" ] || fail "version without git: $(packaging/version.sh)"
[ "$(env -u SOURCE_DATE_EPOCH packaging/version.sh date)" = "$SOURCE_DATE_EPOCH" ] || fail 'date without git'
packaging/source.sh "$version" ..
cmp "../flock-${version#v}.tar.gz" "../one/flock-${version#v}.tar.gz" || fail 'the source tarball made from the source tarball is different'
[ $failed = 1 ] || echo "packaging: ok"
exit $failed
