#!/bin/sh
# readme.sh FILE INSTALL [KEPT...]: print a README for a package; "-" is standard input. The text in the file INSTALL
# replaces the section Install or Start. Sections about the source and pictures are left out. A link to a file that is not
# among KEPT becomes its words, and "in the source" if these are the name of a file.
set -eu
file=$1 install=$2
shift 2
awk -v kept=" $* " -v install="$install" '
	/^## / { skip = /^## (Start|Install|Numbers|How it is tested|Tests|What is only compiled|Building|Read on)$/ }
	/^## (Start|Install)$/ { while ((getline line <install) > 0) text = text line "\n"; text = text "\n" }
	!skip && !/^!\[/ { text = text $0 "\n" }
	END {
		# An address may contain one pair of parentheses.
		while (match(text, /\[[^][]*\]\([^()]*(\([^()]*\)[^()]*)?\)/)) {
			link = substr(text, RSTART, RLENGTH)
			end = RSTART + RLENGTH
			out = out substr(text, 1, RSTART - 1)
			text = substr(text, end)
			words = target = link
			sub(/\]\(.*/, "", words); sub(/^\[/, "", words)
			sub(/^[^]]*\]\(/, "", target); sub(/\)$/, "", target)
			if (target ~ /^(https:|#)/ || index(kept, " " target " ")) out = out link
			else if (words ~ /^[^ ]*(\/|\.[a-z]+$)[^ ]*$/ && text !~ /^[ \n]in the source/) out = out words " in the source"
			else out = out words
		}
		printf "%s%s", out, text
	}' "$file"
