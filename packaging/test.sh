#!/bin/sh
# test.sh FLOCK [FLOCK-NAME]: make the packages of this system, with that of one backend, and check them.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/${1##*/}"; }
flock=$(absolute "$1")
backend=${2:+$(absolute "$2")} # such as .../flock-etcd
name=${backend##*/}
packages="flock-go${backend:+ $name}"
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
	mkdir -p build/linux_amd64 "$1"
	"$top/packaging/source.sh" "$version" "$1"
	for package in $packages; do
		program=${package%-go}
		binary=$flock
		[ $program = flock ] || binary=$backend
		cp "$binary" build/linux_amd64/$program
		"$top/packaging/dist.sh" $program "$version" build "$1" linux/amd64
		"$top/packaging/deb.sh" $package "$version" amd64 "$binary" "$1" >/dev/null
		"$top/packaging/apk.sh" $package "$version" amd64 "$binary" "$1"
	done
}
make_all one
make_all two
(cd one && sha256sum *) >sums
(cd two && sha256sum --quiet -c ../sums) || fail 'the same source gives different bytes'
set -- $packages
[ "$(wc -l <sums)" = $((4 + 3 * $#)) ] || fail "files: $(ls one)"

case $version in
"$(cat "$top/VERSION")" | "$(cat "$top/VERSION")~git"*) ;;
*) fail "version $version" ;;
esac
# check_packages PACKAGE FILE...: the .deb has these files, and the Alpine package a program that runs.
check_packages() {
	package=$1
	shift
	deb=$(echo one/${package}_*.deb)
	[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "version of $deb"
	dpkg-deb -c "$deb" >list
	for file in bin/$package share/man/man1/$package.1.gz share/doc/$package/changelog.gz share/doc/$package/copyright \
		share/doc/$package/CHANGELOG.md.gz share/doc/$package/README.md.gz \
		share/bash-completion/completions/$package "$@"; do
		grep -q " ./usr/$file\$" list || fail "$deb has no /usr/$file"
	done
	if command -v lintian >/dev/null; then
		lintian --allow-root --fail-on error,warning "$deb" || fail "lintian $deb"
	else
		echo "packaging: lintian is missing: $deb not checked with it"
	fi
	rm -rf root
	mkdir root
	tar -xzf one/$package-*-alpine-x86_64.tar.gz -C root usr
	[ "$(ls -A root)" = usr ] || fail "the Alpine package also has: $(ls -A root)"
	root/usr/bin/$package --version | grep -q "^$package " || fail "the packed $package does not run"
}
# check_notices PROGRAM BINARY: each module that the program says it is made of has its licence, and so has Go, in the tarball
# and in both packages; and what the documents there refer to is there, too.
check_notices() {
	program=$1 package=$1 tarball=$1-$version-linux-amd64
	[ $program != flock ] || package=flock-go
	rm -rf debian
	dpkg-deb -x one/${package}_*.deb debian
	tar -xzf "one/$tarball.tar.gz"
	go version -m "$2" | awk '$1 == "dep" && $3 !~ /^v0\.0\.0$/ { print $2 }' | grep -v ^example.org/flock >modules
	grep -q golang.org/x/sys modules || fail "modules of $program: $(cat modules)"
	echo 'the Go standard library,' >>modules
	for license in root/usr/share/doc/$package/copyright debian/usr/share/doc/$package/copyright $tarball/LICENSE; do
		while read -r module; do
			grep -q "^It contains $module .*: .*[A-Z]" "$license" || fail "$license does not have the licence of $module"
		done <modules
	done
	gunzip root/usr/share/doc/$package/*.md.gz debian/usr/share/doc/$package/*.md.gz
	for page in root/usr/share/doc/$package/*.md debian/usr/share/doc/$package/*.md $tarball/*.md; do
		grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | while read -r link; do
			case $link in
			https:* | '#'*) ;;
			*) [ -e "${page%/*}/$link" ] || echo "$page: there is no $link" ;;
			esac
		done
	done >dangling
	[ ! -s dangling ] || fail "$(cat dangling)"
}
check_packages flock-go sbin/flock-go-divert share/man/man8/flock-go-divert.8.gz share/man/man7/flock-directory.7.gz
[ -e root/usr/share/man/man7/flock-directory.7.gz ] || fail 'the Alpine package has no flock-directory.7'
root/usr/bin/flock-go lock true || fail 'the packed program does not lock'
check_notices flock "$flock"
[ -e "$tarball/man/flock-directory.7" ] || fail "$tarball has no flock-directory.7"
if [ "$backend" ]; then
	check_packages $name lib/systemd/system/$name@.service
	if command -v systemd-analyze >/dev/null; then
		# It looks for the program, too.
		sed "s,=/usr/bin/,=$dir/root/usr/bin/," root/usr/lib/systemd/system/$name@.service >$name@probe.service
		systemd-analyze verify --man=no ./$name@probe.service >said 2>&1 && [ ! -s said ] || fail "systemd-analyze: $(cat said)"
	else
		echo 'packaging: systemd-analyze is missing: the unit is not checked'
	fi
	check_notices $name "$backend"
fi

# Without git the source has the same version and date, and gives the same bytes.
tar -xzf "one/flock-$version.tar.gz"
cd "flock-$version"
[ "$(packaging/version.sh)" = "$version" ] || fail "version without git: $(packaging/version.sh)"
[ "$(env -u SOURCE_DATE_EPOCH packaging/version.sh date)" = "$SOURCE_DATE_EPOCH" ] || fail 'date without git'
packaging/source.sh "$version" ..
cmp "../flock-$version.tar.gz" "../one/flock-$version.tar.gz" || fail 'the source tarball made from the source tarball is different'
# A repository that git refuses to read is no release.
mkdir .git bin
printf '#!/bin/sh\nexit 128\n' >bin/git
chmod +x bin/git
[ "$(PATH=$PWD/bin:$PATH packaging/version.sh)" = "$(cat VERSION)~git" ] || fail 'the version of a tree that git does not read'
[ $failed = 1 ] || echo "packaging: ok"
exit $failed
