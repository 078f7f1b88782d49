#!/bin/sh
# test.sh FLOCK [FLOCK-NAME]: make the packages of this system and check them: those of flock, or those of a backend.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/${1##*/}"; }
flock=$(absolute "$1")
backend=${2:+$(absolute "$2")} # such as .../flock-etcd
package=${backend##*/}
package=${package:-flock-go}
program=${package%-go}
binary=${backend:-$flock}
for needed in dpkg-deb zip unzip sha256sum; do
	command -v $needed >/dev/null || { echo "packaging: not checked: no $needed"; exit 0; }
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
	cp "$binary" build/linux_amd64/$program
	"$top/packaging/dist.sh" $program "$version" build "$1" linux/amd64
	"$top/packaging/dist.sh" $program "$version" build "$1" # for no system: as where only Windows is asked for
	"$top/packaging/deb.sh" $package "$version" amd64 "$binary" "$1" >/dev/null
	"$top/packaging/apk.sh" $package "$version" amd64 "$binary" "$1"
}
# The scripts do not need what only GNU's programs have: so they run on a Mac, and make the same there.
mkdir elsewhere
for refused in date find sed touch; do
	ln -s "$top/compat_test/elsewhere/posix/refuse" elsewhere/$refused
done
elsewhere=$dir/elsewhere:$PATH
! PATH=$elsewhere date -d @0 2>/dev/null || fail 'date -d is not refused'
make_all one
(cd one && sha256sum *) >sums
if [ -z "$backend" ]; then # the scripts are the same for the backends
	(PATH=$elsewhere; make_all two) || fail 'what only the programs of GNU have'
	(cd two && sha256sum --quiet -c ../sums) || fail 'the same source gives different bytes'
fi
[ "$(wc -l <sums)" -eq 7 ] || fail "files: $(ls one)"

case $version in
"$(cat "$top/VERSION")" | "$(cat "$top/VERSION")~git"*) ;;
*) fail "version $version" ;;
esac
MAKEFLAGS='' make -s -C "$top" fleet/etcd/man/flock-etcd.1 fleet/postgres/man/flock-postgres.1
for page in "$top"/man/*.[17] "$top"/fleet/*/man/*.1 "$top"/packaging/debian/*.8; do
	grep -qx ".Os flock $(cat "$top/VERSION")" "$page" || fail "$page has another version: $(grep '^.Os' "$page")"
done
# check_packages FILE...: the .deb has these files, and the Alpine package a program that runs.
check_packages() {
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
	rm -rf root check
	mkdir root check
	dpkg-deb -e "$deb" check
	dpkg-deb -x "$deb" root
	(cd root && md5sum --quiet -c ../check/md5sums) || fail "md5sums of $deb"
	[ "$(find root -type f | wc -l)" -eq "$(wc -l <check/md5sums)" ] || fail "files that are not in md5sums of $deb"
	dpkg-deb -f "$deb" Homepage | grep -q . || fail "$deb has no Homepage"
	rm -rf root check
	mkdir root
	apk=$(echo one/$package-*-x86_64.apk)
	# tar ignores the checksums of apk, and says so.
	tar -xzf "$apk" -C root 2>said || fail "$apk: $(cat said)"
	[ "$(tar -tzf "$apk" 2>/dev/null | head -n 1)" = .PKGINFO ] || fail ".PKGINFO is not the first in $apk"
	[ "$(ls -A root)" = ".PKGINFO
usr" ] || fail "$apk also has: $(ls -A root)"
	[ ! -e root/usr/lib ] || fail "$apk has units of systemd"
	if command -v python3 >/dev/null; then
		python3 "$top/packaging/apk_check.py" "$apk" || fail "apk cannot read $apk"
	else
		echo "packaging: python3 is missing: what apk reads of $apk is not checked"
	fi
	root/usr/bin/$package --version | grep -q "^$package " || fail "the packed $package does not run"
	gzip -dc "root/usr/share/man/man1/$package.1.gz" >page
	head -n 12 page | grep -qi "^.Dt $package 1" || fail "the manual page of $package has another title: $(head -n 5 page)"
	! command -v mandoc >/dev/null || mandoc -T lint -W warning page >said || fail "$package.1: $(cat said)"
	gzip -dc "root/usr/share/doc/$package/README.md.gz" | grep -q "$package" || fail "the README of $package does not name it"
}
# check_links DOCUMENT...: what they refer to is there, or they say that it is in the source.
check_links() {
	for page; do
		[ -e "$page" ] || continue # only flock has more documents than its README
		grep -oE '\]\([^()]*(\([^()]*\))?\)' "$page" | sed 's/^](//; s/)$//' | while read -r link; do
			case $link in
			https:* | '#'*) ;;
			*) [ -e "${page%/*}/$link" ] || echo "$page: there is no $link" ;;
			esac
		done
		# A file that the text names is there, or in the source. [WORDS](FILE) was checked above.
		sed -E 's/\]\([^()]*(\([^()]*\))?\)//g' "$page" | tr '\n' ' ' | grep -oE \
			'[^ `*|,;:()]*([A-Za-z]\.(go|md|yaml)|(compat_test|packaging)/[a-z/]*)[^ ]* [^ ]* [^ ]* [^ ]*' | while read -r file in the source more; do
			file=$(echo "$file" | sed 's/[][`.,:;()]*$//; s/.*[][`(]//')
			[ -e "${page%/*}/$file" ] || [ -e "${page%/*}/doc/$file" ] || case "$in $the $source" in
			'in the source'*) ;;
			*) echo "$page names $file, which is not there" ;;
			esac
		done
		case ${page##*/} in
		README.md) ! grep -o 'make [a-z]*-[a-z]*' "$page" || echo "$page names what only the source has" ;;
		esac
	done >dangling
	[ ! -s dangling ] || fail "$(cat dangling)"
}
tarball=$program-$version-linux-amd64
# check_notices: each module that the program says it is made of has its licence, and so has Go, in the tarball and in both
# packages; and what the documents there refer to is there, too.
check_notices() {
	rm -rf debian
	dpkg-deb -x one/${package}_*.deb debian
	tar -xzf "one/$tarball.tar.gz"
	go version -m "$binary" | awk '$1 == "dep" && $3 !~ /^v0\.0\.0$/ { print $2 }' | grep -v ^example.org/flock >modules
	grep -q golang.org/x/sys modules || fail "modules of $program: $(cat modules)"
	echo 'the Go standard library,' >>modules
	for license in root/usr/share/doc/$package/copyright debian/usr/share/doc/$package/copyright $tarball/LICENSE; do
		while read -r module; do
			grep -q "^It contains $module .*: .*[A-Z]" "$license" || fail "$license does not have the licence of $module"
		done <modules
	done
	gunzip root/usr/share/doc/$package/*.md.gz debian/usr/share/doc/$package/*.md.gz
	check_links root/usr/share/doc/$package/*.md debian/usr/share/doc/$package/*.md $tarball/*.md $tarball/doc/*.md
	! gzip -cd root/usr/share/man/man*/*.gz debian/usr/share/man/man*/*.gz | grep '^\.Ql make ' || fail 'a manual page names a target of make'
}
# check_commands README ROOT: all commands in it run. The packages for rpm and Arch have what that for Alpine has. The
# README of flock-go is checked where no backend is given.
check_commands() {
	if command -v python3 >/dev/null; then
		python3 "$top/packaging/commands_check.py" "$1" "$2" "$flock" || fail "the commands of $1"
	else
		echo "packaging: python3 is missing: the commands of $1 are not run"
	fi
}
# check_paths ROOT: what the documents of flock-go below ROOT name is there, and their lines for cron run.
check_paths() {
	for page in "$1"/usr/share/doc/flock-go/README.md "$1"/usr/share/doc/flock-go/recipes.md "$1"/usr/share/man/man1/flock-go.1.gz; do
		gzip -cdf "$page" >page
		sed -n 's/^ *[*/0-9]* \* \* \* \* //p' page >cron.lines
		[ -s cron.lines ] || fail "$page has no line for cron"
		while read -r job; do
			rm -rf jobs.dir # with the cooldowns in it
			mkdir jobs.dir
			printf '#!/bin/sh\necho ran\n' | tee jobs.dir/mirror >jobs.dir/report
			chmod +x jobs.dir/*
			job=$(echo "$job" | sed "s,/usr/bin/,$1&,g; s,/var/run/,$dir/jobs.dir/,g; s,/opt/,$dir/jobs.dir/,g")
			[ "$(env -i HOME="$dir/jobs.dir" PATH=/usr/bin:/bin sh -c "$job" 2>&1)" = ran ] || fail "$page: cron cannot run $job"
		done <cron.lines
		for file in $(grep -o '/usr/share/doc/flock-go/[a-z.-]*[a-z]' page) $(sed -n 's/^\.Pa \(doc.*\)/\1/p' page); do
			[ -e "$1$file" ] || [ -e "$1${file%.gz}" ] || grep -A 1 "^\.Pa $file\$" page | grep -q '^in the source' ||
				fail "$page names $file, which is not there"
		done
	done
}
# check_divert: after "on" flock is flock-go, with its page and its completions, and "off" gives back what was there.
check_divert() {
	command -v dpkg-divert >/dev/null || return 0
	mkdir -p divert/db
	: >divert/db/status
	cp -R debian/usr divert
	usr=$dir/divert/usr
	printf '#!/bin/sh\nexec %s --admindir %s "$@"\n' "$(command -v dpkg-divert)" "$dir/divert/db" >divert/dpkg-divert
	printf '#!/bin/sh\necho 0\n' >divert/id
	chmod +x divert/dpkg-divert divert/id
	sed "s,/usr/,$usr/,g" debian/usr/sbin/flock-go-divert >divert/run
	echo old >$usr/bin/flock
	echo old >$usr/share/fish/vendor_completions.d/flock.fish
	divert() { PATH=$dir/divert:$PATH sh divert/run "$1" 2>&1; }
	! divert status >said || fail "flock-go-divert status before on: $(cat said)"
	divert on >said && divert on >>said && [ ! -s said ] || fail "flock-go-divert on: $(cat said)"
	divert status | grep -q '^on: ' || fail 'flock-go-divert status after on'
	for file in bin/flock share/zsh/vendor-completions/_flock share/fish/vendor_completions.d/flock.fish \
		share/bash-completion/completions/flock share/man/man1/flock.1.gz; do
		[ -e "$usr/$file" ] && [ -L "$usr/$file" ] || fail "flock-go-divert on: $file is no link to what is there"
	done
	"$usr/bin/flock" --version | grep -q '^flock' || fail "the diverted flock is $("$usr/bin/flock" --version)"
	if command -v fish >/dev/null; then
		(HOME=$dir/divert PATH=$usr/bin:$PATH
		fish --no-config -c "set fish_complete_path $usr/share/fish/vendor_completions.d; complete -C 'flock --per'") 2>&1 | grep -q permits ||
			fail 'fish does not complete the diverted flock'
	fi
	if command -v zsh >/dev/null; then
		HOME=$dir/divert zsh -f -c "fpath=($usr/share/zsh/vendor-completions \$fpath); autoload -U compinit; compinit -u -D
			[[ \$_comps[flock] == _flock && \$_comps[flock-go] == _flock-go ]]" || fail 'zsh does not complete the diverted flock'
	fi
	divert off >said && divert off >>said && [ ! -s said ] || fail "flock-go-divert off: $(cat said)"
	! divert status >said || fail "flock-go-divert status after off: $(cat said)"
	[ "$(cat $usr/bin/flock $usr/share/fish/vendor_completions.d/flock.fish)" = "old
old" ] || fail 'flock-go-divert off does not give back what was there'
	[ ! -e $usr/share/zsh/vendor-completions/_flock ] || fail 'flock-go-divert off leaves _flock'
}
if [ "$backend" ]; then
	check_packages lib/systemd/system/$package@.service
	dpkg-deb -x one/${package}_*.deb root
	if command -v systemd-analyze >/dev/null; then
		# It looks for the program, too.
		sed "s,=/usr/bin/,=$dir/root/usr/bin/," root/usr/lib/systemd/system/$package@.service >$package@probe.service
		systemd-analyze verify --man=no ./$package@probe.service >said 2>&1 && [ ! -s said ] || fail "systemd-analyze: $(cat said)"
	else
		echo 'packaging: systemd-analyze is missing: the unit is not checked'
	fi
	check_notices
	for root in root debian; do check_commands $root/usr/share/doc/$package/README.md $root; done
	check_commands "$tarball/README.md" "$tarball"
	[ $failed = 1 ] || echo "packaging: ok"
	exit $failed
fi

# For each package manager what becomes the release is earlier than it.
release=$(cat "$top/VERSION")
pre=$release~git20261125.abc1234
dpkg --compare-versions "$pre" lt "$release" || fail "dpkg: $pre is not before $release"
if command -v rpm >/dev/null; then
	[ "$(rpm --eval "%{lua:print(rpm.vercmp('$pre', '$release'))}")" = -1 ] || fail "rpm: $pre is not before $release"
fi
if command -v vercmp >/dev/null; then
	arch_version=$(_version=$pre bash -c "$(grep ^pkgver= one/PKGBUILD); echo \$pkgver")
	[ "$(vercmp "$arch_version" "$release")" = -1 ] || fail "pacman: $arch_version is not before $release"
fi
# In apk _pre is before, and _git behind.
[ "$("$top/packaging/version.sh" for apk "$pre")" = "${release}_pre20261125" ] || fail 'the version for apk'

# The licence of Go is found without GOROOT/LICENSE, and otherwise the message says what to set.
mkdir -p go-bin goroot/src/cmd/vendor/golang.org/x/sys
cat >go-bin/go <<END
#!/bin/sh
[ "\$*" != 'env GOROOT' ] || { echo "$dir/goroot"; exit; }
exec "$(command -v go)" "\$@"
END
chmod +x go-bin/go
licenses() { GOOS=linux GOARCH=amd64 "$top/packaging/licenses.sh" flock; }
if [ ! -e /usr/share/licenses/go/LICENSE ] && [ ! -e /usr/share/licenses/golang/LICENSE ]; then
	! (PATH=$dir/go-bin:$PATH; licenses) >said 2>&1 || fail 'a licence of Go that is not there'
	grep -q 'set GO_LICENSE' said || fail "without a licence of Go: $(cat said)"
fi
licenses >said
cp "$(go env GOROOT)/src/cmd/vendor/golang.org/x/sys/LICENSE" goroot/src/cmd/vendor/golang.org/x/sys
(PATH=$dir/go-bin:$PATH; licenses) | cmp - said || fail 'the licence of Go, from its vendored modules'
(PATH=$dir/go-bin:$PATH; GO_LICENSE=$dir/goroot/src/cmd/vendor/golang.org/x/sys/LICENSE licenses) | cmp - said ||
	fail 'the licence of Go, from GO_LICENSE'

# What is for Windows has no manual pages and no recipes of Unix.
mkdir -p build/windows_amd64
echo MZ >build/windows_amd64/flock.exe
"$top/packaging/dist.sh" flock "$version" build zip windows/amd64
unzip -qqd zip zip/*.zip
mkdir zip/root
check_commands zip/flock-*/README.md zip/root
[ "$(cd zip/flock-* && echo *)" = 'CHANGELOG.md LICENSE README.md flock.exe' ] || fail "the zip has $(ls zip/flock-*)"
! grep -qE 'cron|/var/lock|chmod|9>' zip/flock-*/README.md || fail "recipes of Unix in the README for Windows"

check_packages sbin/flock-go-divert share/man/man8/flock-go-divert.8.gz share/man/man7/flock-directory.7.gz
[ -e root/usr/share/man/man7/flock-directory.7.gz ] || fail 'the Alpine package has no flock-directory.7'
root/usr/bin/flock-go lock true || fail 'the packed program does not lock'
check_notices
check_paths root
check_paths debian
for root in root debian; do check_commands $root/usr/share/doc/flock-go/README.md $root; done
check_commands "$tarball/README.md" "$tarball"
# The formula makes a README in the source.
grep -o '"packaging/readme.sh".*)' one/flock-go.rb | sed 's/[",)]//g' >formula.words
mkdir -p formula/usr/local/bin
(cd "$top" && $(cat "$dir/formula.words")) >formula/README.md || fail 'the README of the formula'
cp "$top/CHANGELOG.md" "$top/LICENSE" formula
cp -R "$top/man" formula
cp "$flock" formula/usr/local/bin/flock
check_links formula/README.md
check_commands formula/README.md formula
check_divert
[ -e "$tarball/man/flock-directory.7" ] || fail "$tarball has no flock-directory.7"

# The spec makes its three packages.
if command -v rpmbuild >/dev/null; then
	database="_dbpath $dir/rpm/database" # else it makes one in the home
	if rpmbuild -bb --nocheck --nodeps --define "_sourcedir $dir/one" --define "_topdir $dir/rpm" --define "$database" \
		one/flock-go.spec >said 2>&1; then
		[ "$(ls rpm/RPMS/*/*.rpm | wc -l)" -eq 3 ] || fail "the spec makes $(ls rpm/RPMS/*)"
		rpm --define "$database" -qlp rpm/RPMS/*/flock-go-*.rpm | grep -qx /usr/bin/flock-go || fail 'the RPM has no flock-go'
		for file in rpm/RPMS/*/*.rpm; do
			rpm --define "$database" -qLp "$file" | grep -q /LICENSE || fail "$file has no licence"
		done
	else
		fail "rpmbuild: $(tail -n 30 said)"
	fi
else
	echo 'packaging: rpmbuild is missing: the spec is not checked'
fi

# Without git the source has the same version and date, and gives the same bytes.
tar -xzf "one/flock-$version.tar.gz"
cd "flock-$version"
[ "$(packaging/version.sh)" = "$version" ] || fail "version without git: $(packaging/version.sh)"
[ "$(unset SOURCE_DATE_EPOCH; packaging/version.sh date)" = "$SOURCE_DATE_EPOCH" ] || fail 'date without git'
PATH=$elsewhere packaging/source.sh "$version" ..
cmp "../flock-$version.tar.gz" "../one/flock-$version.tar.gz" || fail 'the source tarball made from the source tarball is different'
# A tree without git that source.sh has not packed is no release; and others may read what make dist makes.
mv packaging/source-version ..
[ "$(packaging/version.sh)" = "$(cat VERSION)~git" ] || fail "the version of a tree without git: $(packaging/version.sh)"
mv ../source-version packaging
(umask 077; PATH=$elsewhere make -s dist SYSTEMS=) >../said 2>&1 || fail "make dist: $(cat ../said)"
[ -e dist/SHA256SUMS ] && [ -z "$(find dist -type f ! -perm 644)" ] || fail "make dist made $(ls -l dist)"
# A repository that git refuses to read is no release.
mkdir .git bin
printf '#!/bin/sh\nexit 128\n' >bin/git
chmod +x bin/git
[ "$(PATH=$PWD/bin:$PATH packaging/version.sh)" = "$(cat VERSION)~git" ] || fail 'the version of a tree that git does not read'
[ $failed = 1 ] || echo "packaging: ok"
exit $failed
