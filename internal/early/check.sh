#!/bin/sh
# check.sh FLOCK RELEASE: checks what another release of Go can change in the program silently: see doc/go.md. It takes
# two seconds. If a check fails, it names that one, and ends with status 1.
set -u
if [ -z "${3-}" ]; then
	limit=''
	! command -v timeout >/dev/null || limit='timeout 60' # what hangs fails, too
	said=$($limit sh "$0" "$1" "$2" checks) && exit
	echo "flock does not fit Go $2: $(echo "$said" | tail -n 1): 'make PLAIN=1' builds the plain program," \
		"'make FORCE=1' this one: see doc/go.md" >&2
	exit 1
fi

# From here on the name of each check is printed before the check is made.
system=$(go env GOOS)/$(go env GOARCH)
case $system in windows/*) exit 0 ;; esac # the program depends on nothing there
echo 'a directory for temporary files: mktemp -d'
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' TERM
cd "$dir" && mkdir bin && ln -s "$program" bin/flock || exit
PATH=$dir/bin:$PATH
export PATH
unset FLOCK_BACKEND
exec </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
under='env' # what starts flock, and can give it a variable

# gives CHECK STATUS COMMAND...: the command has this status. If FLOCK_BACKEND is set, flock starts the Go runtime first.
gives() {
	check=$1 want=$2
	shift 2
	for by in "$under" "$under FLOCK_BACKEND=auto"; do
		echo "$check: $by $*"
		$by "$@" >/dev/null 2>&1
		[ $? -eq "$want" ] || exit 1
	done
}

# alike CHECK COMMAND...: the output and the status of the command are under flock what they are without it.
alike() {
	check=$1
	shift
	for by in "$under" "$under FLOCK_BACKEND=auto"; do
		for option in $options; do
			echo "$check: $by flock $option f $*"
			want=$({ $by "$@"; echo $?; } 2>/dev/null)
			[ "$({ $by flock "$option" f "$@"; echo $?; } 2>/dev/null)" = "$want" ] || exit 1
		done
	done
}

gives status 7 flock f sh -c 'exit 7'
gives status 7 flock -F f sh -c 'exit 7'
gives status 7 flock -s -n -o f -c 'exit 7'
gives status 7 flock --exclusive --timeout 5 --close f sh -c 'exit 7'
gives status 137 flock f sh -c 'kill -KILL $$'
gives status 69 flock -n f ./none
gives status 66 flock none/f true
gives status 64 flock --none
gives status 3 flock --limit 60 f sh -c 'trap : USR1; kill -USR1 $PPID; exit 3'
echo 'exit 6' >script && chmod +x script
if ./script 2>/dev/null; [ $? -eq 6 ]; then # some do not let files in TMPDIR be executed
	gives status 6 flock f ./script
fi
{
	gives status 0 flock -w 5 9
	gives status 1 flock -n f true
	gives status 5 flock -w .1 -E 5 f true
	gives status 0 flock --fd 9 -s -c true
	gives status 0 flock -s -n f true
	gives status 0 flock -u 9
	gives status 0 flock -n f true
} 9>>f

options='-o -F'
alike argv printf '<%s>' 'a b' '' '*' -c --
bare() { env -i "PATH=$PATH" EMPTY= A=b=c "$@"; }
under='bare env'
alike environment env
under='env'
(
	trap '' HUP PIPE USR1
	alike signals sh -c 'kill -HUP $$; kill -PIPE $$; kill -USR1 $$; echo lives'
) || exit

options=-o
alike descriptors ls /dev/fd
closed() { "$@" <&-; }
under='closed env'
alike descriptors cat
# The lock file gets the lowest free number, also if a standard descriptor is non-blocking, where dd(1) can make it so.
echo lowest >f
gives descriptors 0 flock f sh -c '[ "$(cat)" = lowest ]'
under='env'
gives descriptors 0 flock f sh -c '[ "$(cat <&3)" = lowest ]'
mkfifo fifo && exec 8<>fifo
dd iflag=nonblock count=0 <&8 2>/dev/null
nonblocking() { "$@" <&8; }
under='nonblocking env'
gives descriptors 0 flock f sh -c '[ "$(cat <&3)" = lowest ]'
under='env'

case $system in linux/*) ;; *) exit 0 ;; esac
gives status 0 flock --fcntl -w 5 f true
if env --block-signal=URG,SEGV,USR1 true 2>/dev/null; then
	under='env --block-signal=URG,SEGV,USR1'
fi
alike mask grep '^SigBlk' /proc/self/status
under='env'

case $system in */amd64 | */arm64) ;; *) exit 0 ;; esac
cat >memory <<'END'
of() { sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" /proc/$2/status; }
if [ "$(of Threads $$)" -gt 1 ]; then echo emulated; else echo "$(of Threads $PPID) $(of VmRSS $PPID)"; fi
END
echo 'memory: flock f sh memory'
early=$(flock f sh memory) runtime=$(FLOCK_BACKEND=auto flock f sh memory)
# An emulator shows its own threads and memory.
[ "$early" = emulated ] || { [ "${early% *}" = 1 ] && [ $((2 * ${early#* })) -lt "${runtime#* }" ]; }
