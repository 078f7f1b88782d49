# Our flock with one fault, to show that the scripts of beyond/ see it. The test for a fault is: M NAME.
# The file that is called flock sets MUTANT and REAL, and sources this file with the arguments of flock.
M() { [[ $MUTANT == "$1" ]]; }

real() { # the program, in place of this shell
	exec -a flock "$REAL" "$@"
}

# change OPTION 'COMMANDS': the commands change $value, the value of OPTION; if it is empty, $instead replaces the option
words=("$@") value= instead= found=
change() {
	local i option=$1 new=() word
	for ((i = 0; i < ${#words[@]}; i++)); do
		word=${words[i]}
		if [[ -z $found && ($word == "$option" || $word == "$option="*) ]]; then
			found=yes
			if [[ $word == *=* ]]; then value=${word#*=}; else value=${words[++i]}; fi
			eval "$2"
			[[ -z $value ]] || new+=("$option=$value")
			[[ -z $instead ]] || new+=("$instead")
		else
			new+=("$word")
		fi
	done
	words=("${new[@]}")
}
has() {
	local word
	for word in "${words[@]}"; do [[ $word == $1 ]] && return; done
	return 1
}

if has '--permits*'; then
	M permits-one-more && change --permits '[[ $value == *[!0-9]* ]] || value=$((value + 1))'
	M permits-one-fewer && change --permits '[[ $value -lt 2 ]] || value=$((value - 1))'
	M permits-exclusive && change --permits 'value='
	M permits-shared && change --permits 'value= instead=--shared'
	M permits-never-wait && words=(-n "${words[@]}")
	M permits-any-number && change --permits '[[ $value == [1-9]* ]] || value=1'
	M permits-change-the-mode && [[ -e f ]] && chmod 640 f
	M permits-write-into-the-file && echo permit >f
	M permits-leave-something && : >f.permit
	M permits-refuse-any-mode && has '-[sx]' && exit 64
	if M permits-conflict-is-0; then "$REAL" "${words[@]}"; exit 0; fi
fi
# once succeeds the first time only; its mark is outside of the directory that the cases look at
once() { if [[ -e ../once ]]; then return 1; fi; : >../once; }
if M permits-lock-only-once && ! once && has '-[nw]'; then exit 1; fi
if M permits-not-given-back && [[ ${words[0]} == -u ]]; then exit 0; fi
if M permits-end-with-every-lock && [[ ${words[0]} == -u ]]; then "$REAL" --fcntl "${words[@]}"; fi

if has '--cooldown*'; then
	M cooldown-ignored && change --cooldown 'value='
	M cooldown-in-milliseconds && change --cooldown '[[ $value == *[!0-9]* ]] || value=.000$value'
	M cooldown-in-hours && change --cooldown 'case $value in *[!0-9.]*) ;; .*) value=${value}e3 ;; *) value=${value}00 ;; esac'
	if M cooldown-never-ends || M cooldown-of-new-files-only; then
		M cooldown-never-ends && once && real "${words[@]}"
		M cooldown-of-new-files-only && [[ ! -e f ]] && real "${words[@]}"
		exit 1
	fi
	M cooldown-never-waits && words=(-n "${words[@]}")
	M cooldown-any-number && change --cooldown '[[ $value == [0-9.i]* ]] || value=1'
	if M cooldown-over-at-the-end || M cooldown-set-when-refused || M cooldown-fails-with-1; then
		"$REAL" "${words[@]}"
		status=$?
		file=f
		M cooldown-over-at-the-end && [[ -e $file ]] && touch "$file"
		M cooldown-set-when-refused && [[ $status == 1 && -e $file ]] && touch -t 204001010000 "$file"
		M cooldown-fails-with-1 && [[ $status != 0 ]] && status=1
		exit $status
	fi
elif M cooldown-for-everybody && ! has '--holders' && ! has -s && ! has -u && ! has '--permits*'; then
	words=(--cooldown .001 "${words[@]}")
fi

if has '--queue*'; then
	M queue-ignored && change --queue 'value='
	M queue-one-more && change --queue '[[ $value == *[!0-9]* ]] || value=$((value + 1))'
	M queue-never-waits && change --queue 'value= instead=-n'
	M queue-any-number && change --queue '[[ $value == [0-9]* && $value != *[!0-9]* && ${#value} -lt 9 ]] || value=1'
	M queue-of-any-lock && { has '--fcntl' || has '-u' || has --remove || [[ -d ${words[2]} || ! -w f ]]; } && change --queue 'value='
	if M queue-refuses-with-0; then "$REAL" "${words[@]}"; exit 0; fi
	if M queue-in-a-file && [[ -e f ]]; then : >f.queue; fi
	if M queue-place-is-inherited; then exec 8<f; fi
	if M queue-full-after-one; then once || exit 1; fi
fi
if has '--report*'; then
	M report-ignored && change --report 'value='
	M report-only-when-refused && change --report '[[ $value == *[!0-9.]* ]] || value=1000'
	M report-any-number && change --report '[[ $value == [0-9i]* && $value != *s ]] || value=1'
	case $MUTANT in
	report-another-process) exec 2> >(sed 's/process [1-9]/&1/' >&2) ;;
	report-without-command) exec 2> >(sed 's/ (.*)//' >&2) ;;
	report-says-it-twice) exec 2> >(sed 'p' >&2) ;;
	report-nobody-left) exec 2> >(grep -v 'still held' >&2) ;;
	report-always-warns) echo 'flock: -o would prevent that' >&2 ;;
	report-none-more) exec 2> >(sed 's/, and .* more//' >&2) ;;
	esac
fi

if M remove-takes-a-value && has '--remove=*'; then real "${words[@]/#--remove=*/--remove}"; fi
if has --remove && [[ $MUTANT == remove-* ]]; then
	without=()
	for word in "${words[@]}"; do [[ $word == --remove ]] || without+=("$word"); done
	M remove-ignored && real "${without[@]}"
	M remove-what-it-made && [[ -e f ]] && real "${without[@]}"
	if M remove-as-with-rm; then "$REAL" "${without[@]}"; status=$?; rm -f f; exit $status; fi
	"$REAL" "${words[@]}"
	status=$?
	M remove-with-content && [[ -f f ]] && "$REAL" -n f rm f
	M remove-refuses-nothing && [[ $status == 64 ]] && real "${without[@]}"
	M remove-fails-with-1 && [[ $status != 0 ]] && exit 1
	exit $status
fi

if has --holders && [[ $MUTANT == holders-* ]]; then
	M holders-nobody && exit 1
	M holders-touches-the-file && touch -- "${words[-1]}"
	M holders-makes-the-file && [[ ! -e ${words[-1]} ]] && : >"${words[-1]}"
	"$REAL" "${words[@]}" >.listed
	status=$?
	case $MUTANT in
	holders-only-the-first) sed 1q .listed ;;
	holders-only-the-last) sed -n '$p' .listed ;;
	holders-without-waiters) grep -v '(waiting)' .listed ;;
	holders-waiters-hold) sed 's/ (waiting)//' .listed ;;
	holders-other-process) sed 's/^\( *\)[0-9]/\19&/' .listed ;;
	holders-always-exclusive) sed 's/shared/exclusive/; s/permit/exclusive/' .listed ;;
	holders-of-nobody) sed "s/ $(id -un) / - /" .listed ;;
	holders-without-command) cut -c 1-30 .listed ;;
	holders-says-it-twice) cat .listed .listed ;;
	holders-twice-the-name) sed 's/sleep/sleeper/' .listed ;;
	*) cat .listed ;;
	esac
	rm .listed
	M holders-always-0 && exit 0
	M holders-always-1 && exit 1
	exit $status
fi
real "${words[@]}"
