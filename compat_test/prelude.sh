# shellcheck shell=bash disable=SC2010,SC2164
#
# Functions for the cases:
#
#   await 'CONDITION'     wait until the condition is true; after a limit print that and exit with status 99
#   announce FILE         make FILE, and wake those who wait for it by: until [ -e FILE ]; do read _ <../wake.FILE || exit; done
#   hold [OPTION]... FILE  start a holder of the lock in the background, and wait until it has the lock
#   rehold ...            the same with the reference
#   python_holds CALL     start a holder in Python, which calls fcntl.CALL for the file f, such as 'flock(f, fcntl.LOCK_EX)'
#   release               let all holders end, and wait until they have
#   waiting FILE [N]      true if N (1) or more processes wait for a lock on FILE
#   asleep [N]            true if N (1) or more flocks have started no command and sleep, as one that waits for a permit does
#   locks_of FILE         the lines of FILE in /proc/locks
#   stopped PID           true if a signal has stopped the process
#   catches PID           true if the flock with this process id catches the signals that would end it, and those only: the
#                         Go runtime catches all of them while it starts
#   placed PID            true if the flock with this process id has its place in a queue
#   ticketed PID          true if the flock with this process id has a ticket of --replace
#   is_next PID           true if the flock with this process id is the next one that gets a permit
#   ls [-OPTION] [DIRECTORY]  as ls(1), for ordinary users
#   mtime FILE             the time at which FILE was last changed, in seconds with nine decimals
#   touch_in SECONDS FILE  set the modification time of FILE to SECONDS from now; SECONDS may be negative
#   exclusive NAME CMD... run CMD, and print a line if another process runs "exclusive NAME" at the same time
#   each_shell SCRIPT [AFTER] [MEANWHILE]  run SCRIPT in bash, dash, zsh and busybox, each in a directory of its own; then AFTER
#                         here; with MEANWHILE, which runs here, too, SCRIPT runs in the background as $shell. Print what this
#                         prints with bash; with another shell, only if that is not the same
#   work                  in SCRIPT: make the file "has", wait for "go", make "over"; also the script ../work
#   busy_until_go         see that the lock is held until the work is over
#   backend_program DIRECTORY NAME  make the program flock-NAME, which prints its words and exits with 7
#   without_kcmp CMD...   run CMD where kcmp(2) is forbidden
#
# Where the kernel does not show who waits (no /proc/locks, a directory lock, or a pid namespace, which hides the locks that
# processes have made that have ended, and who waits for them), waiting is true a short time after asleep: a
# case must give the same answer if a waiter is late. Where there is no /proc/PID/stat, asleep asks ps(1); if that fails,
# too, it is always true.
#
# To start a process takes longer than anything else here, so these functions use what is built into bash. The harness keeps
# FIFOs open beside the directory of the case: nobody writes to "idle", so that reading it with a time limit is a pause, and
# each line in "wake.FILE" makes one that waits for FILE look again.
top=${PWD%/*}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 502)); then # before, read -t used SIGALRM, which some cases ignore
	pause() { read -rt "$1" _ <"$top/idle" || :; }
else
	pause() { sleep "$1"; }
fi
await() {
	local tries=0 inode_of= inode
	until eval "$1"; do
		if [ $((tries += 1)) -gt "${AWAIT_TRIES:-1500}" ]; then
			echo "waited in vain for: $1" >&2
			exit 99
		fi
		pause .01
	done
}
announce() {
	: >"$1"
	printf '\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n' >"$top/wake.$1"
}
hold_with() {
	local program=$1 mark
	shift
	mark=held.$((holders_made += 1))
	"$program" "$@" sh -c 'echo >"$0"; until [ -e go ]; do read _ <"$1" || exit; done' "$mark" "$top/wake.go" &
	holders+=($!)
	await "[ -e $mark ]"
	rm "$mark"
}
hold() { hold_with flock "$@"; }
rehold() { hold_with reflock "$@"; }
python_holds() {
	python3 -c "import fcntl, os, time
f = open('f', 'w')
fcntl.$1
open('held', 'w')
while not os.path.exists('go'): time.sleep(.01)" &
	holders+=($!)
	await '[ -e held ]'
}
release() {
	announce go
	wait "${holders[@]}"
	rm go
	holders=()
}
# Without the names that begin with a dot, which root sees on BSDs.
ls() {
	case $#:$1 in
	0:)
		set -- *
		if [ -e "$1" ] || [ -L "$1" ]; then printf '%s\n' "$@"; fi
		;;
	1:[!-/]*) if [ -d "$1" ]; then (cd -- "$1" && ls); else command ls "$1"; fi ;;
	*) command ls "$@" ;;
	esac
}
# inode_number FILE: sets inode. Within one await, it is found once for a file.
inode_number() {
	[ "$inode_of" != "$1" ] || return 0
	inode=$(command -p ls -diL -- "$1")
	inode=${inode#"${inode%%[0-9]*}"}
	inode=${inode%% *}
	inode_of=$1
}
# read_locks FILE [N]: sets locks to its lines in the kernel's list, without their numbers and each once. The list comes in
# pieces, here of N characters and then of a page. Where two meet, and at the end, a line is there twice if somebody has locked
# meanwhile; where two meet, it is missing if somebody has unlocked.
read_locks() {
	local IFS=$'\n' line first rest # a loop of read would seek in it after each line
	inode_number "$1"
	{ read -rN "${2:-1}" first; read -rd '' rest || :; } </proc/locks
	locks=$'\n'
	for line in $first$rest; do
		line=${line#*:}$'\n'
		case $line in *":$inode "*) [[ $locks == *$'\n'"$line"* ]] || locks+=$line ;; esac
	done
	locks=${locks#?}
}
waiting() {
	local locks
	if [ -n "$NO_KERNEL_LOCKS$LOCKS_ARE_HIDDEN" ] || ! [ -r /proc/locks ]; then
		asleep "$2" || return
		pause .1
		return 0
	fi
	read_locks "$1"
	locks=${locks//[!>]/}
	((${#locks} >= ${2:-1}))
}
# From one reading a line can be missing; readings in pieces of different sizes that agree are right.
locks_of() {
	local before= locks=none inode_of= inode n=1
	until [ "$locks" = "$before" ]; do
		before=$locks
		read_locks "$1" $((n = 1001 - n))
	done
	printf %s "$locks"
}
export -f inode_number read_locks locks_of
asleep() {
	local path line name pid parent group state wanted=${1:-1} n=0 parents=' ' flocks=
	for path in /proc/[0-9]*/stat; do
		read -r line <"$path" || continue
		name=${line#*(}
		name=${name%)*}
		pid=${line%% *}
		set -- ${line##*) } # state, parent, process group, session
		[ "$4" = $$ ] || continue
		parents+="$2 "
		case $1:$name in S:flock* | S:reflock* | S:qemu-*) flocks+=" $pid" ;; esac
	done 2>/dev/null
	if ! [ -r /proc/self/stat ]; then
		line=$(ps -axo pid=,ppid=,pgid=,stat=,ucomm= 2>/dev/null) || return 0
		while read -r pid parent group state name; do
			[ "$group" = $$ ] || continue
			parents+="$parent "
			case $state:$name in [SI]*:flock*) flocks+=" $pid" ;; esac
		done <<<"$line"
	fi
	for pid in $flocks; do
		[[ $parents == *" $pid "* ]] || ((n += 1))
	done
	((n >= wanted))
}
# text_of FILE: sets text
text_of() { text= && IFS= read -rd '' text 2>/dev/null <"$1" || [ -n "$text" ]; }
stopped() {
	local text
	if [ -r /proc/self/status ]; then
		text_of "/proc/$1/status" && [[ $text == *State:?T* ]]
	else
		[[ $(ps -o stat= -p "$1") == T* ]]
	fi
}
catches() { # SIGTERM and, which comes last, SIGHUP
	local text
	text_of "/proc/$1/status" && [[ $text == *SigCgt:?0000000000004[0-9a-f][0-9a-f][13]* ]]
}
holds_byte() {
	local text path
	for path in "/proc/$1/fdinfo/"*; do
		if text_of "$path" && [[ $text =~ OFDLCK[^$'\n']*\ $2\  ]]; then return 0; fi
	done
	return 1
}
placed() {
	local path
	for path in .*.flock.queue/permit,v1,*,"$1",*; do
		if [[ $path =~ permit,v1,[0-9a-f]*,$1, && -e $path ]]; then return 0; fi
	done
	holds_byte "$1" '23058430092136939[0-9]*'
}
ticketed() { holds_byte "$1" '230584301350[0-9]*'; }
is_next() { holds_byte "$1" 4611686018427387903; }
backend_program() {
	mkdir -p "$1"
	printf '#!/bin/sh\nprintf "<%%s>" "$0" "$@"; echo\nexit 7\n' >"$1/flock-$2"
	chmod +x "$1/flock-$2"
}
without_kcmp() { "$SELF" without-kcmp "$(type -P "$1")" "${@:2}"; }
exclusive() {
	local place=$1 status
	shift
	mkdir "$place" 2>/dev/null || echo "two at the same place: $place"
	"$@"
	status=$?
	rmdir "$place" 2>/dev/null
	return $status
}
each_shell() {
	local name place text said
	cat >work <<-'END'
		: >has; until [ -e go ]; do read _ <../../wake.go || exit; done; : >over
	END
	for name in bash dash zsh 'busybox sh'; do
		place=in.${name%% *}
		mkdir "$place"
		cd "$place"
		echo "work() { . ../work; }; announce() { : >\$1; echo >../../wake.\$1; echo >../../wake.\$1; }" >script
		echo "$1" >>script
		{
			if [ -n "$3" ]; then
				$name script & shell=$!
				eval "$3"
				wait $shell
			else
				$name script
			fi
			eval "$2"
		} >>"../said.$place"
		cd ..
		text_of "said.$place"
		case $name in
		bash) said=$text && printf %s "$text" ;;
		*) [ "$text" = "$said" ] || printf '%s:\n%s' "$name" "$text" ;;
		esac
	done
}
busy_until_go() {
	await '[ -e has ]'
	flock -n lock echo in; echo $?
	announce go
	await '[ -e over ]'
	flock -w 20 lock echo over
}
# stat and date as in GNU and busybox, else as in the BSDs and macOS
mtime() {
	stat -c %.9Y -- "$1" 2>/dev/null || stat -f %.9Fm -- "$1"
}
touch_in() {
	local when=$(($(date +%s) + $1))
	touch -t "$(date -d "@$when" +%Y%m%d%H%M.%S 2>/dev/null || date -r "$when" +%Y%m%d%H%M.%S)" -- "$2"
}
export -f mtime touch_in
holders=()
