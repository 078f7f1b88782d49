#!/bin/sh
# test.sh [FLOCK]: check what each installed shell completes.  With FLOCK also check that its --help,
# the man page and the completions have the same long options, and that the shells know which of
# these have a value.
# test.sh FLOCK-NAME: check that --help of a backend and its man page have the same options.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
binary=${1+$(cd "$(dirname "$1")" && pwd)/${1##*/}}
failed=0
# Print the long options that a text as of --help lists, one a line.
in_help() { sed -nE 's/^ (-.,|   ) (--[a-z-]+).*/\2/p' | sort -u; }
# Print those that a man page lists.
in_page() { sed -n 's/^\.It Fl/Fl/p' "$here/../$1" | grep -oE 'Fl --?[a-z-]{2,}' | sed 's/Fl -*/--/' | sort -u; }
# are_in PLACE ITS-OPTIONS OPTIONS: check that the options are all there.
are_in() {
	for option in $3; do
		case " $(echo $2) " in *" $option "*) continue ;; esac
		echo "$1: $option is missing" >&2
		failed=1
	done
}
help=
[ -z "$binary" ] || help=$("$binary" --help | in_help)
case ${binary##*/} in
flock-*)
	page=fleet/${binary##*/flock-}/man/${binary##*/}.1
	are_in "$page" "$(in_page "$page")" "$help"
	# Of those that flock has some are refused, and some change nothing.
	are_in "${binary##*/} --help" "$help $(in_page man/flock.1)" "$(in_page "$page")"
	exit $failed ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/play" "$dir/play/adir"
: >"$dir/play/a lock"
: >"$dir/play/zlock"
printf '#!/bin/sh\n' >"$dir/bin/zzcommand"
for name in flock-probe flock-go flock-no-name; do cp "$dir/bin/zzcommand" "$dir/bin/$name"; done
chmod +x "$dir/bin/"*
PATH=$dir/bin:$PATH
export PATH here dir
cd "$dir/play"
# An old bash may be the first one in PATH, as on macOS.
bash=$(IFS=:; for place in $PATH:/opt/homebrew/bin; do
	if "$place/bash" -c '((BASH_VERSINFO[0] >= 5))' 2>/dev/null; then
		echo "$place/bash"
		break
	fi
done)
# The descriptors that are offered: those that a shell has open, where that is shown.
descriptors='3 9'
[ ! -d /proc/self/fd ] || descriptors='0 1 2'

# One function per shell: $1 is the line before the cursor; they print one
# candidate a line.
ask_bash() {
	"$bash" --norc -c '
		. "$here/flock.bash"
		line=$1; eval "COMP_WORDS=($line)"
		[[ $line == *" " ]] && COMP_WORDS+=("")
		# Split --name=value into three words, as the line editor does.
		words=()
		for w in "${COMP_WORDS[@]}"; do
			if [[ $w == --*=* ]]; then
				words+=("${w%%=*}" =); [[ ${w#*=} ]] && words+=("${w#*=}")
			else words+=("$w"); fi
		done
		COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
		_flock 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}

ask_fish() {
	HOME=$dir fish --no-config -c '
		source $here/flock.fish
		complete -C $argv[1]' "$1" | sed 's/^--[a-z-]*=//' # which it repeats before each value
}

# zsh has no command for this.  So run one on a pseudo-terminal, replace compadd by
# a function that prints the candidates, and send the key.
cat >"$dir/ask.zsh" <<'END'
PS1=
fpath=($here $fpath)
autoload -U compinit
compinit -u -D
compadd() {
	if (( ! ${@[(I)-[OAD]]} )); then
		local -a found
		builtin compadd -O found "$@"
		print -rl -- MATCH:$^found
	fi
	builtin compadd "$@"
}
finish() {
	zle complete-word
	print -r -- 'DO''NE'
	exit
}
zle -N finish
bindkey '^X' finish
END
ask_zsh() {
	zsh -f -c '
		zmodload zsh/zpty
		zpty z "stty -onlcr -echo; exec zsh -f -i"
		zpty -w z "source $dir/ask.zsh; print REA\"\"DY"
		zpty -r -m z chunk "*READY*"
		zpty -w -n z "$1"$'"'\\x18'"'
		while zpty -r z chunk; do
			print -r -- "$chunk"
			[[ $chunk == *DONE* ]] && break
		done
		zpty -d z' zsh "$1" | tr -d '\r' | sed -n 's/.*MATCH://p'
}

# expect SHELL LINE [!]CANDIDATE...: check that each candidate is offered, or, with
# !, is not.
expect() {
	shell=$1 line=$2
	shift 2
	answer="
$("ask_$shell" "$line" | sed 's/	.*//')
"
	for want; do
		is=missing
		case $answer in *"
${want#!}
"*) is=offered ;; esac
		case $is$want in offered!* | missing[!!]*) ;; *) continue ;; esac
		echo "$shell: '$line': '${want#!}' is $is" >&2
		failed=1
	done
}

# offers SHELL LINE OPTIONS: check that the long options that are offered are these, but for --command, which comes later.
offers() {
	offered=$("ask_$1" "$2" | sed -nE 's/^(--[a-z-]+).*/\1/p' | sort -u)
	are_in "$1: '$2'" "$offered --command" "$3"
	are_in "--help for $1: '$2'" "$3" "$offered"
}

for shell in bash zsh fish; do
	program=$shell
	[ $shell != bash ] || program=$bash
	if ! command -v "$program" >/dev/null; then
		echo "$shell: skipped, not installed (bash: 5 or later)"
		continue
	fi
	[ -z "$binary" ] || offers $shell 'flock --' "$help"
	for name in etcd postgres; do
		offers $shell "flock-$name --" "$(in_help <"$here/../fleet/$name/help.txt")"
	done
	expect $shell 'flock -n --c' --close --conflict-exit-code --cooldown !--shared
	expect $shell 'flock --backend ' auto native flock fcntl directory probe !go !no-name !zlock
	expect $shell 'flock --cooldown-from s' start success !end !zlock
	expect $shell 'flock --cooldown-from start zl' zlock
	expect $shell 'flock --backend p' probe !auto
	expect $shell 'flock --backend d' directory !auto
	expect $shell 'flock --backend=d' directory !auto
	expect $shell 'flock --backend=' native !zlock
	expect $shell 'flock --fd=' $descriptors !zlock
	expect $shell 'flock -w5 zl' zlock
	expect $shell 'flock -nw5 zlock zzc' zzcommand
	expect $shell 'flock -nE75 zlock zzc' zzcommand
	expect $shell 'flock --timeout=5 zlock zzc' zzcommand
	expect $shell 'flock --cooldown=5 zlock zzc' zzcommand
	expect $shell 'flock --fd ' $descriptors !zlock
	expect $shell 'flock -w ' !zlock
	expect $shell 'flock -n zl' zlock
	expect $shell 'flock -w 5 zl' zlock
	expect $shell 'flock -- zl' zlock
	expect $shell 'flock --timeout=5 zl' zlock
	expect $shell 'flock --holders zl' zlock
	expect $shell 'flock --holders zlock zzc' !zzcommand
	expect $shell 'flock --holders zlock ' !zzcommand !zlock
	expect $shell 'flock -n zlock zzc' zzcommand
	expect $shell 'flock -nxw 5 zlock zzc' zzcommand
	expect $shell 'flock zlock -' -c --command !--shared
	expect $shell 'flock zlock -c zzc' zzcommand
	expect $shell 'flock --fd 9 zzc' zzcommand
	expect $shell 'flock --fd=9 -n zzc' zzcommand
	expect $shell 'flock --fd 9 -c zzc' zzcommand
	expect $shell 'flock zlock ls zl' zlock
	expect $shell 'flock-etcd -' -s -n !-u !-F !-o
	expect $shell 'flock-etcd -n nightly zzc' zzcommand
	# The word after an option that has a value is that value, and the next one is the file.
	[ -z "$binary" ] || for option in $("$binary" --help | sed -nE 's/^ (-.,|   ) (--[a-z-]+) <.*/\2/p'); do
		# zsh has one list only.
		case $shell$option in zsh* | *--command | *--fd) ;; *) expect $shell "flock $option 1 zl" zlock ;; esac
	done
	[ $failed = 1 ] || echo "$shell: ok"
done

if [ "$binary" ]; then
	are_in man/flock.1 "$(in_page man/flock.1)" "$help"
	are_in --help "$help --nb --nonblock" "$(in_page man/flock.1)"
fi
exit $failed
