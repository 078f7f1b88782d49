#!/bin/sh
# licenses.sh PROGRAM [debian]: print the licence of the program and those of the modules that it links for $GOOS and
# $GOARCH, as they ask for. The texts come from the module cache and from Go itself. The Apache License, which is long, is
# printed once, or, with "debian", named by the path that it has on every Debian system. GO_LICENSE=FILE names the licence
# of Go, where it is in none of the usual places.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
program=$1
case $program in
flock) cd "$top" ;;
*) cd "$top/fleet/${program#flock-}" ;;
esac

# Print what licence the file $1 is.
name_of() {
	case $(tr -s ' \n\t' ' ' <"$1") in
	*'Apache License Version 2.0'*) echo Apache-2.0 ;;
	*'Redistribution and use'*'Neither the name'*) echo BSD-3-Clause ;;
	*'Permission is hereby granted, free of charge'*) echo MIT ;;
	*) echo "licenses.sh: unknown licence: $1" >&2; exit 1 ;;
	esac
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
apache=$dir/apache # is made if a module has that licence

# Print the file with the licence of Go. Some distributions have it elsewhere than Go itself; their sources of Go contain a
# module of the same authors, under the same text.
go_license() {
	[ -z "${GO_LICENSE-}" ] || { echo "$GO_LICENSE"; return; }
	root=$(go env GOROOT)
	for file in "$root/LICENSE" /usr/share/licenses/go/LICENSE /usr/share/licenses/golang/LICENSE \
		"$root/src/cmd/vendor/golang.org/x/sys/LICENSE"; do
		[ ! -f "$file" ] || { echo "$file"; return; }
	done
	echo "licenses.sh: the licence of Go is not below $root: set GO_LICENSE to the file that has it" >&2
	exit 1
}

heading() { printf '\n%s\n%s\n\n' ------------------------------------------------------------------------ "$*"; }

echo "$program"
echo
cat "$top/LICENSE"
go_license=$(go_license)
list=$(go list -deps -f '{{with .Module}}{{if and .Version (not .Replace)}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' .)
{
	echo "$list" | LC_ALL=C sort -u
	echo "the Go standard library, $(go env GOVERSION) $go_license"
} | while read -r line; do
	from=${line##* }
	license=$from
	[ -f "$from" ] || license=$(ls "$from"/LICENSE* | head -n 1)
	name=$(name_of "$license") || exit
	[ "$name" != Apache-2.0 ] || : >"$apache"
	heading "It contains ${line% *}, under this licence: $name"
	if [ "$name" = Apache-2.0 ]; then
		echo 'See the end of this file.'
	else
		cat "$license"
	fi
	for notice in "${license%/*}"/NOTICE*; do
		[ ! -e "$notice" ] || { printf '\nIts NOTICE:\n\n'; cat "$notice"; }
	done
done
[ -e "$apache" ] || exit 0
heading 'Apache-2.0'
if [ "${2-}" = debian ]; then
	echo 'On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.'
else
	cat "$(go list -m -f '{{.Dir}}' google.golang.org/grpc)/LICENSE"
fi
