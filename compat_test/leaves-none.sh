#!/bin/sh
# leaves-none.sh COMMAND...: runs the command, and fails if that leaves a process, which /proc shows by its environment.
FLOCK_TEST_RUN=$$ "$@"
status=$?
left() { grep -zlsx "FLOCK_TEST_RUN=$$" /proc/[0-9]*/environ; }
tries=0
while [ -n "$(left)" ]; do
	if [ $((tries += 1)) -gt 50 ]; then # some are just ending
		echo "left running by the tests:" >&2
		for path in $(left); do
			echo "${path%/environ}: $(tr '\0' ' ' <"${path%/environ}/cmdline")" >&2
		done
		exit 1
	fi
	sleep .1
done
exit $status
