#!/bin/sh
# readme.sh FILE [KEPT...]: print a README for a package: without the sections about the source, without pictures, and with a
# link to another file only if that is among KEPT.
set -eu
file=$1
shift
awk -v kept=" $* " '
	/^## / { skip = /^## (Start|Install|Numbers|How it is tested|Read on)$/ }
	!skip && !/^!\[/ { text = text $0 "\n" }
	END {
		while (match(text, /\[[^][]*\]\([^)]*\)/)) {
			link = substr(text, RSTART, RLENGTH)
			target = words = link
			sub(/.*\(/, "", target); sub(/\)$/, "", target)
			sub(/^\[/, "", words); sub(/\]\([^)]*\)$/, "", words)
			if (target !~ /^(https:|#)/ && !index(kept, " " target " ")) link = words
			out = out substr(text, 1, RSTART - 1) link
			text = substr(text, RSTART + RLENGTH)
		}
		printf "%s%s", out, text
	}' "$file"
