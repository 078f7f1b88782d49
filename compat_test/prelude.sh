# shellcheck shell=bash disable=SC2010,SC2164
#
# Functions for the cases:
#
#   await 'CONDITION'     wait until the condition is true; after a limit print that and exit with status 99
#   hold [OPTION]... FILE  start a holder of the lock in the background, and wait until it has the lock
#   rehold ...            the same with the reference
#   python_holds CALL     start a holder in Python, which calls fcntl.CALL for the file f, such as 'flock(f, fcntl.LOCK_EX)'
#   release               let all holders end, and wait until they have
#   waiting FILE [N]      true if N (1) or more processes wait for a lock on FILE
#   asleep [N]            true if N (1) or more flocks have started no command and sleep, as one that waits for a permit does
#   locks_of FILE         the lines of FILE in /proc/locks
#   catches PID           true if the flock with this process id catches the signals that would end it, and those only: the
#                         Go runtime catches all of them while it starts
#   placed PID            true if the flock with this process id has its place in a queue
#   ticketed PID          true if the flock with this process id has a ticket of --replace
#   is_next PID           true if the flock with this process id is the next one that gets a permit
#   mtime FILE             the time at which FILE was last changed, in seconds with nine decimals
#   touch_in SECONDS FILE  set the modification time of FILE to SECONDS from now; SECONDS may be negative
#   exclusive NAME CMD... run CMD, and print a line if another process runs "exclusive NAME" at the same time
#   each_shell SCRIPT [AFTER] [MEANWHILE]  run SCRIPT in bash, dash, zsh and busybox, each in a directory of its own; then AFTER
#                         here; with MEANWHILE, which runs here, too, SCRIPT runs in the background as $shell
#   work                  in SCRIPT: make the file "has", wait for "go", make "over"; also the script ../work
#   busy_until_go         see that the lock is held until the work is over
#   backend_program DIRECTORY NAME  make the program flock-NAME, which prints its words and exits with 7
#   without_kcmp CMD...   run CMD where kcmp(2) is forbidden
#
# Where the kernel does not show who waits (no /proc/locks, or a directory lock), waiting is true a short time after asleep: a
# case must give the same answer if a waiter is late. Where there is no /proc/PID/stat, asleep is always true.
await() {
	local tries=0
	until eval "$1"; do
		if [ $((tries += 1)) -gt "${AWAIT_TRIES:-1500}" ]; then
			echo "waited in vain for: $1"
			exit 99
		fi
		sleep .01
	done
}
hold_with() {
	local program=$1 mark
	shift
	mark=held.$((holders_made += 1))
	"$program" "$@" sh -c 'echo >"$0"; until [ -e go ]; do sleep .01; done' "$mark" &
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
	echo >go
	wait "${holders[@]}"
	rm go
	holders=()
}
waiting() {
	local inode n
	if [ -n "$NO_KERNEL_LOCKS" ] || ! [ -r /proc/locks ]; then
		asleep "$2" && sleep .1
		return
	fi
	inode=$(ls -diL -- "$1")
	inode=${inode#"${inode%%[0-9]*}"}
	inode=${inode%% *}
	n=$(grep -c -e "-> .*:$inode [0-9]* [0-9EOF]*\$" /proc/locks)
	[ "$n" -ge "${2:-1}" ]
}
# The kernel shows its list in pieces: where others lock meanwhile a line is there twice, or is missing.
locks_of() {
	local before now=none
	until [ "$now" = "$before" ]; do
		before=$now
		now=$(grep ":$(stat -c %i "$1") " /proc/locks | cut -d: -f2-)
	done
	[ -z "$now" ] || echo "$now"
}
export -f locks_of
asleep() {
	! [ -r /proc/self/stat ] || cat /proc/[0-9]*/stat 2>/dev/null | awk -v session=$$ -v n="${1:-1}" '
		$6 == session { parent[$4]; if ($2 ~ /^\((flock|reflock|qemu-)/ && $3 == "S") asleep[$1] }
		END { for (pid in asleep) n -= !(pid in parent); exit n > 0 }'
}
catches() { grep -qs '^SigCgt:.0000000000004..[13]$' /proc/$1/status; } # SIGTERM and, which comes last, SIGHUP
placed() {
	ls .*.flock.queue 2>/dev/null | grep -q "^permit,v1,[0-9a-f]*,$1," ||
		grep -qs 'OFDLCK.* 23058430092136939[0-9]* ' /proc/$1/fdinfo/*
}
ticketed() { grep -qs 'OFDLCK.* 230584301350[0-9]* ' /proc/$1/fdinfo/*; }
is_next() { grep -qs 'OFDLCK.* 4611686018427387903 ' /proc/$1/fdinfo/*; }
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
	local name
	cat >work <<-'END'
		: >has; until [ -e go ]; do sleep .01; done; : >over
	END
	for name in bash dash zsh 'busybox sh'; do
		echo "-- $name"
		mkdir "in.${name%% *}"
		cd "in.${name%% *}"
		echo "work() { . ../work; }" >script
		echo "$1" >>script
		if [ -n "$3" ]; then
			$name script & shell=$!
			eval "$3"
			wait $shell
		else
			$name script
		fi
		eval "$2"
		cd ..
	done
}
busy_until_go() {
	await '[ -e has ]'
	flock -n lock echo in; echo $?
	: >go
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
