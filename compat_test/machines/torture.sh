#!/bin/bash
# torture.sh SECONDS PROGRAM: four workers take the lock f in the working directory again and again. A third of them is
# killed: flock with its command, or flock alone. It prints how many entered and how many were killed.
#
# Whoever is inside makes the name "inside", which must not exist, and increments a counter. If the name exists, its maker
# was killed, or two are inside.
if [ "$1" = enter ]; then
	me=$2
	echo "$me" >"id.$me"
	for ((try = 0; ; try++)); do
		ln "id.$me" inside 2>/dev/null && break
		other=$(cat inside)
		# shellcheck disable=SC2010 # a listing asks the server
		if ls killed | grep -qx "$other"; then
			rm inside
		elif [ $try = 100 ]; then
			echo "$me found $other" >>broken
			exit 1
		else
			sleep .1
		fi
	done
	n=$(cat counter)
	printf '%08d\n' $((10#$n + 1)) 1<>counter
	echo >>"$log"
	rm inside "id.$me"
	exit
fi

seconds=$1 program=$2
export log=/tmp/entered
: >$log
: >/tmp/kills
worker() {
	for ((n = 0; SECONDS < seconds; n++)); do
		me=$HOSTNAME.$1.$n
		setsid $program f "$0" enter "$me" & # the leader of a process group
		case $((RANDOM % 6)) in
		0)
			sleep .$((RANDOM % 40 + 10))
			kill -9 -- -$! && echo >>/tmp/kills
			while pgrep -f "enter $me\$" >/dev/null; do sleep .1; done
			: >"killed/$me"
			;;
		1)
			sleep .$((RANDOM % 40 + 10))
			kill -9 $! # what it has started goes on
			;;
		esac
		wait $!
		[ ! -e broken ] || break
	done
} 2>/dev/null
for i in 1 2 3 4; do worker $i & done
wait
while pgrep -f "^[^ ]*bash $0 enter" >/dev/null; do sleep .1; done
echo "$(wc -l <$log) $(wc -l </tmp/kills)"
