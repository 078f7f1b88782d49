#!/bin/sh
# backend.sh PROGRAM: check the program flock-NAME of a backend against the contract in doc/backends.md, "How to write
# one": arguments, statuses, conflict, modes, queue, cooldown, token, signals, limit, and never two at once. PROGRAM is that
# file; what it needs, such as the address of its server, is in the environment. The locks that it takes have names with the id
# of this process. What a backend may refuse, with 64, is then reported as missing.
set -u
program=$1
base=${program##*/}
backend=${base#flock-}
dir=$(mktemp -d)
lock=contract-$$
failed=0
trap 'rm -rf "$dir"' EXIT # ends what hold has started. The id of a process that has ended may be that of a stranger.

fail() {
	echo "$base: $*" >&2
	failed=1
}

# expect STATUS WORD...: the program exits with this status.
expect() {
	want=$1
	shift
	"$program" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ $got = "$want" ] || fail "'$*': status $got, not $want: $(cat "$dir/out" "$dir/err")"
}

# await COMMAND: wait until it succeeds, half a minute at most.
await() {
	n=0
	until eval "$1"; do
		n=$((n + 1))
		[ $n -lt 300 ] || { fail "waited in vain: $1"; return 1; }
		sleep .1
	done
}

# hold OPTION... NAME: hold a lock in the background until let_go, by $holder. The command leaves its process id in a file.
hold() {
	rm -f "$dir/in" "$dir/end"
	"$program" "$@" sh -c 'echo $$ >"$0/in"
		until [ -e "$0/end" ] || ! [ -d "$0" ]; do sleep .05; done; exit 3' "$dir" 2>"$dir/held" &
	holder=$!
	await '[ -s "$dir/in" ]'
}

# let_go STATUS: end the command of hold, if it has not ended; this is the status.
let_go() {
	: >"$dir/end"
	wait "$holder"
	status=$?
	[ $status = "$1" ] || fail "a holder ended with $status, not $1: $(cat "$dir/held")"
}

# Arguments.
expect 0 --help
expect 0 --version
expect 64
expect 64 --no-such-option "$lock" true
expect 64 "$lock"
expect 64 -w x "$lock" true
expect 64 9
expect 64 -u "$lock" true
expect 64 --backend flock "$lock" true
expect 0 --backend "$backend" "$lock" true
expect 0 -o -n -x "$lock" true

# The status of the command.
expect 7 "$lock" sh -c 'exit 7'
expect 7 "$lock" -c 'exit 7'
expect 143 "$lock" sh -c 'kill -TERM $$'
expect 69 "$lock" /no/such/command

# Conflict.
hold "$lock"
expect 1 -n "$lock" true
expect 9 -n -E 9 "$lock" true
expect 1 -w 1 "$lock" true
expect 0 -n "$lock-other" true
expect 0 --holders "$lock"
[ -s "$dir/out" ] || fail '--holders lists nobody'
let_go 3
expect 1 --holders "$lock"
expect 0 -n "$lock" true

# Modes.
if "$program" -s -n "$lock" true 2>/dev/null; then
	hold -s "$lock"
	expect 0 -s -n "$lock" true
	expect 1 -x -n "$lock" true
	let_go 3
else
	echo "$base: shared locks are missing"
fi
if "$program" --permits 2 -n "$lock" true 2>/dev/null; then
	hold --permits 2 "$lock"
	expect 0 --permits 2 -n "$lock" true
	expect 1 --permits 2 -n "$lock" sh -c '"$0" --permits 2 -n "$1" true; exit $?' "$program" "$lock"
	expect 1 -n "$lock" true
	let_go 3
else
	echo "$base: permits are missing"
fi

# Queue: one waits, and the next one is refused. Who may wait waits.
if "$program" --queue 1 -n "$lock" true 2>/dev/null; then
	hold "$lock"
	"$program" --queue 1 -w 120 "$lock" true &
	waiter=$!
	await '[ "$("$program" --holders "$lock" | grep -vc " last ")" -eq 2 ]' # it may list the last run, too
	expect 1 --queue 1 "$lock" true
	expect 9 --queue 1 -E 9 "$lock" true
	expect 1 --queue 2 -w 1 "$lock" true
	expect 0 --queue 1 -n "$lock-other" true
	let_go 3
	wait $waiter || fail "one that waited in the queue ended with $?"
	expect 0 --queue 1 "$lock" true
else
	echo "$base: the queue is missing"
fi

# Cooldown, from the end of the command, for all who give it. What would last for a minute is not over when it is asked for.
if "$program" --cooldown 3 -n "$lock-cools" true 2>/dev/null; then
	hold --cooldown 3 "$lock-cools"
	expect 1 -n --cooldown 3 "$lock-cools" true
	let_go 3
	ended=$(date +%s%N)
	expect 1 --holders "$lock-cools"
	expect 0 -n "$lock-cools" true
	expect 0 -w 60 --cooldown 60 "$lock-cools" true
	[ $(($(date +%s%N) - ended)) -ge 2900000000 ] || fail 'the cooldown of 3 s was over too early'
	expect 1 -n --cooldown 60 "$lock-cools" true
	expect 1 --queue 1 -w 3 --cooldown 60 "$lock-cools" true

	# There is none if the command was not started, or if the lock was never had.
	expect 69 --cooldown 60 "$lock-none" /no/such/command
	hold "$lock-none"
	expect 1 -w 3 --cooldown 60 "$lock-none" true
	let_go 3
	expect 0 -n --cooldown 60 "$lock-none" true

	# It goes on if the locker is killed.
	hold --cooldown 60 "$lock-killed"
	kill -KILL "$holder"
	expect 0 -w 40 "$lock-killed" true
	expect 1 -n --cooldown 60 "$lock-killed" true

	# From the start: it can be over before the command. From a success: whoever fails, dies or is stopped leaves none.
	if "$program" --cooldown 10 --cooldown-from start -n "$lock-from" true 2>/dev/null; then
		expect 1 -n --cooldown 60 "$lock-from" true
		expect 0 -w 60 --cooldown 2 --cooldown-from start "$lock-from" sleep 3
		expect 0 -n --cooldown 60 "$lock-from" true
		hold --cooldown 60 --cooldown-from start "$lock-started"
		kill -KILL "$holder"
		expect 0 -w 40 "$lock-started" true
		expect 1 -n --cooldown 60 "$lock-started" true
		expect 3 --cooldown 60 --cooldown-from success "$lock-success" sh -c 'exit 3'
		expect 124 -n --cooldown 60 --cooldown-from success --limit .3 "$lock-success" sleep 1000
		hold -n --cooldown 60 --cooldown-from success "$lock-success"
		expect 1 -n --cooldown 60 "$lock-success" true
		kill -KILL "$holder"
		expect 0 -w 40 --cooldown 60 --cooldown-from success "$lock-success" true
		expect 1 -n --cooldown 60 "$lock-success" true
		expect 64 --cooldown-from start "$lock" true
		hold --cooldown 60 --cooldown-from success "$lock-next"
		"$program" -w 60 --cooldown 60 --cooldown-from success "$lock-next" true &
		waiter=$!
		let_go 3
		wait $waiter || fail "one that waits while another one fails ended with $?"
		expect 1 -n --cooldown 60 "$lock-next" true
	else
		echo "$base: --cooldown-from is missing"
	fi

	# And if the lock of one that lives is broken; but if that is dead, the next one is in at once.
	if "$program" --break "$lock-none" 2>/dev/null || [ $? = 1 ]; then
		hold --cooldown 60 "$lock-live"
		expect 0 --break "$lock-live"
		wait "$holder"
		status=$?
		[ $status = 75 ] || fail "a holder whose lock was broken ended with $status, not 75: $(cat "$dir/held")"
		expect 1 -n --cooldown 60 "$lock-live" true
		hold --cooldown 60 "$lock-dead"
		kill -KILL "$holder"
		expect 0 --break "$lock-dead"
		expect 0 -n --cooldown 60 "$lock-dead" true
	else
		echo "$base: --break is missing"
	fi
else
	echo "$base: the cooldown is missing"
fi

# The token grows, and is not that of a lock around.
last=0
for _ in 1 2 3; do
	token=$(FLOCK_TOKEN=999999999999 "$program" "$lock" sh -c 'echo "$FLOCK_TOKEN"')
	[ -z "$token" ] || [ "$token" -gt "$last" ] && [ "$token" != 999999999999 ] || fail "token '$token' after $last"
	last=${token:-0}
done

# Signals: one to a holder is for its command, one to a waiter ends it. The lock is free then.
hold "$lock"
"$program" "$lock" true &
waiter=$!
sleep .5 # it may wait by now; if not, it is not asked less of it
kill -TERM $waiter
wait $waiter
[ $? = 143 ] || fail 'SIGTERM does not end a waiter'
kill -TERM "$holder"
(sleep 10; : >"$dir/end") & # if the signal does not reach the command
late=$!
wait "$holder"
status=$?
kill $late
[ $status = 143 ] || fail "a holder whose command gets SIGTERM ended with $status, not 143: $(cat "$dir/held")"
expect 0 -n "$lock" true

# A limit, and what the command leaves behind: whoever has the lock next runs alone.
if "$program" --limit 60 --kill-children "$lock" true 2>/dev/null; then
	expect 124 --limit .3 "$lock" sleep 1000
	expect 0 -n "$lock" true
	expect 7 --kill-children "$lock" sh -c 'sleep 1000 & echo $! >"$0/left"; exit 7' "$dir"
	! kill -0 "$(cat "$dir/left")" 2>/dev/null || fail '--kill-children has left a child behind'
	expect 0 -n "$lock" true

	# What SIGTERM does not end lives for ten seconds, as long as a lease or longer.
	echo 'trap "" TERM; echo $$ >"$1/left_"; mv "$1/left_" "$1/left"; exec sleep 1000' >"$dir/stubborn"
	rm -f "$dir/left"
	"$program" --kill-children "$lock" \
		sh -c 'sh "$0/stubborn" "$0" & until [ -e "$0/left" ]; do sleep .05; done; exit 7' "$dir" 2>"$dir/held" &
	holder=$!
	await '[ -e "$dir/left" ]'
	"$program" -w 120 "$lock" sh -c '! kill -0 "$0" 2>/dev/null' "$(cat "$dir/left")" ||
		fail 'the next one has the lock while a child lives that is to be killed, or never'
	let_go 7
	if "$program" --cooldown 3 -n "$lock-limited" true 2>/dev/null; then
		expect 124 -w 60 --cooldown 60 --limit .3 "$lock-limited" sleep 1000
		expect 1 -n --cooldown 60 "$lock-limited" true
	fi
else
	echo "$base: --limit and --kill-children are missing"
fi

# The locker is killed: the command is dead when the next one gets the lock.
hold "$lock"
command=$(cat "$dir/in")
kill -KILL "$holder"
"$program" -w 120 "$lock" sh -c '! kill -0 "$0" 2>/dev/null' "$command" || fail 'the next one has the lock while the command lives, or never'

# Never two.
for _ in 1 2 3 4 5 6; do
	for _ in 1 2 3; do
		"$program" -w 120 "$lock" sh -c 'mkdir "$0/two" && echo in >>"$0/count" && sleep .05 && rmdir "$0/two"' "$dir" || echo "$?" >>"$dir/bad"
	done &
	crowd="${crowd:-} $!"
done
wait $crowd
[ ! -e "$dir/bad" ] || fail "two at once, or no lock: $(cat "$dir/bad")"
[ "$(grep -c in "$dir/count")" = 18 ] || fail 'not all have had the lock'

[ $failed = 1 ] || echo "$base: ok"
exit $failed
