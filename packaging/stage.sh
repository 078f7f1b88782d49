#!/bin/sh
# stage.sh PACKAGE ROOT BINARY ZSHDIR FISHDIR [debian]: install the files of flock-go, flock-etcd or flock-postgres for Linux on $GOARCH below
# ROOT. All of flock-go but flock-directory(7) are called flock-go, so they can be installed together with another flock, and
# the pages say so.
set -eu
umask 022
package=$1 root=$2 binary=$3 share=$2/usr/share zshdir=$4 fishdir=$5
top=$(cd "$(dirname "$0")/.." && pwd)
doc=$share/doc/$package
source=$top
[ "$package" = flock-go ] || source=$top/fleet/${package#flock-}

mkdir -p "$root/usr/bin" "$share/man/man1" "$share/bash-completion/completions" \
	"$root$zshdir" "$root$fishdir" "$doc"
install -m 755 "$binary" "$root/usr/bin/$package"
# here: edit a document so that it names what the package has: /usr/bin/flock-go, and documents in one directory.
here() {
	sed -e 's,/usr/local/bin/flock,/usr/bin/flock-go,g' -e 's,`man flock`,`man flock-go`,g' \
		-e 's,doc/recipes\.md,recipes.md,g' -e 's,doc/systems\.md,systems.md,g' \
		-e 's,doc/network-filesystems\.md,network-filesystems.md,g' \
		-e "/^\.Pa recipes\.md\$/{N;s,.*\nin the source\([:.]\) *,.Pa ${doc#"$root"}/recipes.md.gz \\1\\
,;s,\n\$,,;}"
}
# page FILE: print a manual page that calls flock flock-go.
page() {
	here <"$1" | sed -e 's/^\.Dt FLOCK 1/.Dt FLOCK-GO 1/' -e 's/^\.Nm flock$/.Nm flock-go/' -e 's/^\.Xr flock 1/.Xr flock-go 1/' |
		sed '/^\.Xr flock-go 1 ,$/{N;s/^\(.*\)\n\(\.Xr flock-etcd 1 ,\)$/\2\
\1/;}' # in the order of the alphabet
}
page "$source/man/${package%-go}.1" | if [ "$package" = flock-go ]; then
	sed '/^\.Sh DESCRIPTION/a\
This package calls the program\
.Nm ;\
the examples call it\
.Ql flock .\
.Pp'
else
	cat
fi | gzip -9nc >"$share/man/man1/$package.1.gz"
if [ "$package" = flock-go ]; then
	mkdir -p "$share/man/man7"
	page "$top/man/flock-directory.7" | gzip -9nc >"$share/man/man7/flock-directory.7.gz"
fi
documents=
[ "$package" != flock-go ] || documents='recipes.md systems.md network-filesystems.md'
# The text about the installation names its own paths.
here <"$source/README.md" | "$top/packaging/readme.sh" - "$top/packaging/install/$package${6:+.$6}.md" $documents |
	gzip -9nc >"$doc/README.md.gz"
for file in $documents; do
	case $file in
	recipes.md) note='This package calls the program `flock-go`; the examples call it `flock`.' ;;
	systems.md) note='What `make` runs is in the source.' ;;
	*) note= ;;
	esac
	here <"$top/doc/$file" | "$top/packaging/readme.sh" - /dev/null $documents |
		awk -v note="$note" '{ print } NR == 1 && note { print "\n" note }' | gzip -9nc >"$doc/$file.gz"
done
gzip -9nc "$top/CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
GOOS=linux "$top/packaging/licenses.sh" "${package%-go}" ${6-} >"$doc/copyright"
if [ "$package" != flock-go ]; then
	mkdir -p "$root/usr/lib/systemd/system"
	install -m 644 "$top/packaging/systemd/$package@.service" "$root/usr/lib/systemd/system/$package@.service"
fi
# Each completion is also for a link to it called flock: see flock-go-divert.
sed 's/^\(complete -F _flock\) .*/\1 "${BASH_SOURCE##*\/}"/' "$top/completions/flock.bash" \
	>"$share/bash-completion/completions/$package"
sed "s/^#compdef .*/#compdef $package/" "$top/completions/_flock" >"$root$zshdir/_$package"
sed 's/^for command in flock .*/for command in (basename (status filename) .fish)/' "$top/completions/flock.fish" \
	>"$root$fishdir/$package.fish"
