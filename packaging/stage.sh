#!/bin/sh
# stage.sh PACKAGE ROOT BINARY ZSHDIR FISHDIR: install the files of flock-go or flock-etcd below ROOT. All of flock-go are
# called flock-go, so they can be installed together with another flock.
set -eu
umask 022
package=$1 root=$2 binary=$3 share=$2/usr/share zshdir=$4 fishdir=$5
top=$(cd "$(dirname "$0")/.." && pwd)

mkdir -p "$root/usr/bin" "$share/man/man1" "$share/bash-completion/completions" \
	"$root$zshdir" "$root$fishdir" "$share/doc/$package"
install -m 755 "$binary" "$root/usr/bin/$package"
case $package in
flock-go)
	gzip -9nc "$top/man/flock.1" >"$share/man/man1/flock-go.1.gz"
	gzip -9nc "$top/README.md" >"$share/doc/flock-go/README.md.gz"
	install -m 644 "$top/LICENSE" "$share/doc/flock-go/copyright"
	;;
flock-etcd)
	gzip -9nc "$top/etcd/man/flock-etcd.1" >"$share/man/man1/flock-etcd.1.gz"
	gzip -9nc "$top/etcd/README.md" >"$share/doc/flock-etcd/README.md.gz"
	mkdir -p "$root/usr/lib/systemd/system"
	install -m 644 "$top/packaging/systemd/flock-etcd@.service" "$root/usr/lib/systemd/system/flock-etcd@.service"
	# deb.sh replaces it by one for Debian.
	"$top/packaging/licenses.sh" >"$share/doc/flock-etcd/copyright"
	;;
esac
sed "s/^\(complete -F _flock\) .*/\1 $package/" "$top/completions/flock.bash" \
	>"$share/bash-completion/completions/$package"
sed "s/^#compdef .*/#compdef $package/" "$top/completions/_flock" >"$root$zshdir/_$package"
sed "s/^for command in flock .*/for command in $package/" "$top/completions/flock.fish" \
	>"$root$fishdir/$package.fish"
