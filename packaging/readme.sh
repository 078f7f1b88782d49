#!/bin/sh
# readme.sh FILE INSTALL [KEPT...]: print a README for a package. The text in the file INSTALL takes the place of the section
# Install or Start. Sections about the source and pictures are left out, and of a link to another file only its words stay,
# if that is not among KEPT.
set -eu
file=$1 install=$2
shift 2
awk -v kept=" $* " -v install="$install" '
	/^## / { skip = /^## (Start|Install|Numbers|How it is tested|Tests|Building|Read on)$/ }
	/^## (Start|Install)$/ { while ((getline line <install) > 0) text = text line "\n"; text = text "\n" }
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
