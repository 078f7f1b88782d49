# bash completion for flock(1).  Needs no bash-completion package.

_flock() {
	local cur=${COMP_WORDS[COMP_CWORD]} i word place='' want='' IFS=$' \t\n'
	# The long options whose value may be the next word.
	local values=' --timeout --wait --conflict-exit-code --start --length --backend --permits --cooldown'
	values+=' --cooldown-from --queue --report --limit '
	COMPREPLY=()

	# Read the words before the cursor: is there a file, is there a command,
	# does the last option still need its value?  bash splits --name=value
	# into three words.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $want ]]; then
			[[ $word == '=' ]] && continue
			want=''
			continue
		fi
		case $place:$word in
		:-- | fd:--) place=${place}end ;;
		:--fd | fd:--fd) want=$word place=fd ;;
		:--holders) place=holders ;;
		fd:-c | fd:--command | fdend:-c | fdend:--command | \
			file:-c | file:--command) place=string ;;
		:--* | fd:--* | holders:--*) [[ $values == *" $word "* ]] && want=$word ;;
		:-*[wE] | fd:-*[wE]) want=${word:0:1}${word: -1} ;;
		:-* | fd:-* | holders:-*) ;;
		: | end: | :* | end:*) place=file ;;
		fd:* | fdend:* | file:*)
			_flock_command "$i"
			return
			;;
		*) return ;;
		esac
	done

	if [[ $want ]]; then
		[[ $cur == '=' ]] && cur=''
		case $want in
		--backend) COMPREPLY=($(compgen -W "auto native flock fcntl directory $(_flock_programs)" -- "$cur")) ;;
		--cooldown-from) COMPREPLY=($(compgen -W 'start end success' -- "$cur")) ;;
		--fd) _flock_descriptors "$cur" ;;
		esac
		return
	fi
	case $place in
	'' | fd)
		if [[ $cur == --* ]]; then
			_flock_options "$place"
			return
		elif [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "-s -x -e -n -w -E -h -V $(_flock_of_files -u -o -F)" -- "$cur"))
			[[ $place ]] && COMPREPLY+=($(compgen -W '-c' -- "$cur"))
			[[ $cur == - ]] && _flock_options "$place"
			return
		fi
		;;
	holders)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$(_flock_of_files --backend)" -- "$cur"))
			return
		fi
		;;
	esac
	case $place in
	'' | end | holders)
		if [[ $cur == [0-9]* ]]; then
			_flock_descriptors "$cur"
		fi
		compopt -o filenames 2>/dev/null
		local IFS=$'\n'
		COMPREPLY+=($(compgen -f -- "$cur"))
		;;
	file)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '-c --command' -- "$cur"))
		else
			_flock_command "$COMP_CWORD"
		fi
		;;
	fd | fdend) _flock_command "$COMP_CWORD" ;;
	string)
		local IFS=$'\n'
		COMPREPLY=($(compgen -c -- "$cur"))
		;;
	esac
}

_flock_options() {
	COMPREPLY+=($(compgen -W "--shared --exclusive --nonblocking
		--timeout --wait --conflict-exit-code --permits --cooldown --cooldown-from --queue --report --limit --kill-children
		--holders --verbose --help --version
		$(_flock_of_files --unlock --close --no-fork --fd --fcntl --start --length --backend --remove --replace)" -- "$cur"))
	[[ $1 == fd ]] && COMPREPLY+=($(compgen -W '--command' -- "$cur"))
	[[ $(_flock_of_files x) ]] || COMPREPLY+=($(compgen -W '--break' -- "$cur"))
	[[ ${COMP_WORDS[0]##*/} != flock-postgres ]] || COMPREPLY+=($(compgen -W '--schema' -- "$cur"))
	return 0
}

# Print the options $@, which are for files, unless it is for a backend's program.
_flock_of_files() { [[ ${COMP_WORDS[0]##*/} =~ ^flock-(etcd|postgres)$ ]] || echo "$@"; }

# Print the backends that are programs, flock-NAME. flock-go is flock itself.
_flock_programs() { compgen -c flock- | sed -n '/^flock-go$/d; s/^flock-\([a-z0-9]*\)$/\1/p'; }

# Complete the descriptors that this shell has open.
_flock_descriptors() {
	local fds
	fds=$(cd "/proc/$$/fd" 2>/dev/null && echo *) || fds='3 4 5 6 7 8 9'
	COMPREPLY+=($(compgen -W "$fds" -- "$1"))
}

# Complete the command that starts at word $1 as if it were the whole line.
_flock_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
		return
	fi
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	if ((COMP_CWORD == $1)); then
		COMPREPLY=($(compgen -c -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}

complete -F _flock flock flock-go flock-etcd flock-postgres
