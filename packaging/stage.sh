#!/bin/sh
# stage.sh ROOT BINARY ZSHDIR FISHDIR: install the files of a package below ROOT.
# All are called flock-go, so they can be installed together with another flock.
set -eu
umask 022
root=$1 binary=$2 share=$1/usr/share zshdir=$3 fishdir=$4
top=$(cd "$(dirname "$0")/.." && pwd)

mkdir -p "$root/usr/bin" "$share/man/man1" "$share/bash-completion/completions" \
	"$root$zshdir" "$root$fishdir" "$share/doc/flock-go"
install -m 755 "$binary" "$root/usr/bin/flock-go"
gzip -9nc "$top/man/flock.1" >"$share/man/man1/flock-go.1.gz"
gzip -9nc "$top/README.md" >"$share/doc/flock-go/README.md.gz"
install -m 644 "$top/LICENSE" "$share/doc/flock-go/copyright"
sed 's/^\(complete -F _flock\) .*/\1 flock-go/' "$top/completions/flock.bash" \
	>"$share/bash-completion/completions/flock-go"
sed 's/^#compdef .*/#compdef flock-go/' "$top/completions/_flock" >"$root$zshdir/_flock-go"
sed 's/^for command in flock flock-go/for command in flock-go/' "$top/completions/flock.fish" \
	>"$root$fishdir/flock-go.fish"
