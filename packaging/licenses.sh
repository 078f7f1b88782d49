#!/bin/sh
# licenses.sh [debian]: print the licence of flock-etcd and those of the modules that it links for $GOOS and $GOARCH, as
# they ask for. The texts come from the module cache. The Apache License, which is long, is printed once, or, with
# "debian", named by the path that it has on every Debian system.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top/etcd"

# Print what licence the file $1 is.
name_of() {
	case $(tr -s ' \n\t' ' ' <"$1") in
	*'Apache License Version 2.0'*) echo Apache-2.0 ;;
	*'Redistribution and use'*'Neither the name'*) echo BSD-3-Clause ;;
	*'Permission is hereby granted, free of charge'*) echo MIT ;;
	*) echo "licenses.sh: it is not known what licence $1 is" >&2; exit 1 ;;
	esac
}

heading() { printf '\n%s\n%s\n\n' ------------------------------------------------------------------------ "$*"; }

echo 'flock-etcd'
echo
cat "$top/LICENSE"
list=$(go list -deps -f '{{with .Module}}{{if and .Version (not .Replace)}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' .)
{
	echo "$list" | LC_ALL=C sort -u
	echo "the Go standard library, $(go env GOVERSION) $(go env GOROOT)"
} | while read -r line; do
	dir=${line##* }
	license=$(ls "$dir"/LICENSE* | head -n 1)
	name=$(name_of "$license") || exit
	heading "It contains ${line% *}, under this licence: $name"
	if [ "$name" = Apache-2.0 ]; then
		echo 'See the end of this file.'
	else
		cat "$license"
	fi
	for notice in "$dir"/NOTICE*; do
		[ ! -e "$notice" ] || { printf '\nIts NOTICE:\n\n'; cat "$notice"; }
	done
done
heading 'Apache-2.0'
if [ "${1-}" = debian ]; then
	echo 'On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.'
else
	cat "$(go list -m -f '{{.Dir}}' google.golang.org/grpc)/LICENSE"
fi
