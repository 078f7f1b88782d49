#!/bin/sh
# run.sh COMMAND...: runs a command that tests, and fails as it does. At the end it says again, in at most 30 lines, what has
# failed, and what the cases were compared with. It also fails if the command leaves a process, which /proc shows by its
# environment, and kills that.
#
# The directory for temporary files is a symbolic link, as on macOS, and wc pads its numbers.
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" && mkdir "$dir/private" && ln -s private "$dir/tmp" || exit
bin=$(cd "$(dirname "$0")/elsewhere/bin" && pwd) || exit
export TMPDIR="$dir/tmp" PATH="$bin:$PATH" FLOCK_TEST_SAID="$dir/said"
left() { grep -zlsx "FLOCK_TEST_RUN=$$" /proc/[0-9]*/environ; }
{
	FLOCK_TEST_RUN=$$ "$@"
	echo $? >"$dir/status"
	tries=0
	while [ -n "$(left)" ]; do
		if [ $((tries += 1)) -gt 50 ]; then # some are just ending
			echo 'left running by the tests, and killed:'
			for path in $(left); do
				echo "    ${path%/environ}: $(tr '\0' ' ' <"${path%/environ}/cmdline")"
				pid=${path#/proc/}
				kill -KILL "${pid%/environ}"
			done
			echo 1 >"$dir/status"
		fi
		sleep .1
	done
} 2>&1 | tee "$dir/log"
status=$(cat "$dir/status")
[ ! -e "$dir/said" ] || grep -qxFf "$dir/said" "$dir/log" || cat "$dir/said" # go test has hidden it
[ "$status" -ne 0 ] || exit 0

# What failed is: a test of Go, with what it printed; lines before an error of make; a panic or an error of the compiler.
awk '
	function say(line) {
		if (length(line) > 150) line = substr(line, 1, 147) "..."
		said[++n] = line
	}
	function say_recent(from, i) {
		for (i = NR - from; i < NR; i++) if (i > last && line[i % 8] !~ /^(ok|[?]) /) say(line[i % 8])
	}
	{ line[NR % 8] = $0 }
	/^ *--- FAIL: / { name = $3; shown = 0; indent = match($0, /-/) - 1; next }
	name && match($0, /^ */) && RLENGTH > indent && !/^ *--- / {
		if (!shown++) say(name)
		if (shown <= 12) say($0)
		if (shown == 13) say("    ...")
		next
	}
	{ name = "" }
	/^(panic:|fatal error:|#|left running|compat_test:)|: cannot |\[(build|setup) failed\]/ { say($0); last = NR }
	/^make.*\*\*\*/ { say_recent(4); say($0); last = NR }
	END {
		for (i = 1; i <= n; i++) if (i <= 28 || n <= 29) print said[i]
		if (n > 29) print "... and " n - 28 " lines more, which are above"
	}' "$dir/log" >"$dir/failed"
[ ! -s "$dir/failed" ] || { echo; cat "$dir/failed"; }
exit "$status"
