#!/bin/sh
# stage.sh PACKAGE ROOT BINARY ZSHDIR FISHDIR [debian]: install the files of flock-go, flock-etcd or flock-postgres for Linux on $GOARCH below
# ROOT. All of flock-go but flock-directory(7) are called flock-go, so they can be installed together with another flock.
set -eu
umask 022
package=$1 root=$2 binary=$3 share=$2/usr/share zshdir=$4 fishdir=$5
top=$(cd "$(dirname "$0")/.." && pwd)
doc=$share/doc/$package
source=$top
[ "$package" = flock-go ] || source=$top/${package#flock-}

mkdir -p "$root/usr/bin" "$share/man/man1" "$share/bash-completion/completions" \
	"$root$zshdir" "$root$fishdir" "$doc"
install -m 755 "$binary" "$root/usr/bin/$package"
gzip -9nc "$source/man/${package%-go}.1" >"$share/man/man1/$package.1.gz"
if [ "$package" = flock-go ]; then
	mkdir -p "$share/man/man7"
	gzip -9nc "$top/man/flock-directory.7" >"$share/man/man7/flock-directory.7.gz"
fi
"$top/packaging/readme.sh" "$source/README.md" | gzip -9nc >"$doc/README.md.gz"
gzip -9nc "$top/CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
GOOS=linux "$top/packaging/licenses.sh" "${package%-go}" ${6-} >"$doc/copyright"
if [ "$package" != flock-go ]; then
	mkdir -p "$root/usr/lib/systemd/system"
	install -m 644 "$top/packaging/systemd/$package@.service" "$root/usr/lib/systemd/system/$package@.service"
fi
# The file may have a second name: flock-go-divert.
sed 's/^\(complete -F _flock\) .*/\1 "${BASH_SOURCE##*\/}"/' "$top/completions/flock.bash" \
	>"$share/bash-completion/completions/$package"
sed "s/^#compdef .*/#compdef $package/" "$top/completions/_flock" >"$root$zshdir/_$package"
sed "s/^for command in flock .*/for command in $package/" "$top/completions/flock.fish" \
	>"$root$fishdir/$package.fish"
