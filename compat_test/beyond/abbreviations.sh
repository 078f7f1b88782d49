The reference's option names win every abbreviation over our own.

# alike: options are read before the way of locking is chosen

### abbreviations-that-are-the-references
hold f
flock -n --co 7 f true; echo $?
#> 7
flock -n --con 8 f true; echo $?
#> 8
flock --nonb --co=9 f true; echo $?
#> 9
release
flock --h | grep -c '^Usage'
#> 1
flock --he | grep -c '^Usage'
#> 1
flock --cl f echo close
#> close

### abbreviations-that-are-our-own
flock --cooldown-f start --cooldown 600 f echo cooldown
#> cooldown
flock -n --cooldown 600 f echo cooldown; echo $? # the whole name of one and the beginning of another
#> 1
for o in --coo --cooldow; do flock -n $o 600 f echo cooldown; echo $?; done
#> flock: unrecognized option '--coo'
#> Try 'flock --help' for more information.
#> flock: '--coo' is ambiguous: --cooldown, --cooldown-from
#> 64
#> flock: unrecognized option '--cooldow'
#> Try 'flock --help' for more information.
#> flock: '--cooldow' is ambiguous: --cooldown, --cooldown-from
#> 64
flock --p 1 f echo permits
#> permits
flock --perm=0 f echo permits 2>/dev/null; echo $?
#> 64
flock --b auto f echo backend
#> backend
flock --back=X f true; echo $?
#> flock: invalid backend in --backend: 'X' (auto, native, flock, fcntl or directory)
#> 64
flock --ho f >/dev/null; echo $?
#> 1
flock --rem g true; flock --remov g true; flock --q 1 g true; flock --repo 0 f true; rm g; ls
#> f

### abbreviations-that-stay-ambiguous
for o in --c --n --nonblockin --; do
	flock $o f true >/dev/null 2>&1; echo "$o $?"
done
#> --c 64
#> --n 64
#> --nonblockin 0
#> -- 0

### abbreviations-all-as-the-reference
# needs: reflock
# kernel: the reference has no other locks
# long: 1,900 processes for what changes with a release of util-linux

# Every prefix of every name that the installed reference lists. What it says in an error is told elsewhere; names that
# newer releases have can make a prefix ambiguous.
for name in $(reflock --help | sed -n 's/.*--\([a-z-]*\).*/\1/p') nb nonblocking wait; do
	for n in $(seq ${#name}); do
		prefix=${name:0:n}
		case $prefix in s|f*|no-f*|v|ve|vers*|command) continue;; esac
		a=$(reflock --$prefix f true 2>/dev/null | wc -l; echo ${PIPESTATUS[0]})
		b=$(flock --$prefix f true 2>/dev/null | wc -l; echo ${PIPESTATUS[0]})
		case $prefix in h*) a=${a##*[[:space:]]} b=${b##*[[:space:]]};; esac
		[ "$a" = "$b" ] || echo "--$prefix:" $a / $b
		reflock --$prefix 1 f true >/dev/null 2>&1; a=$?
		flock --$prefix 1 f true >/dev/null 2>&1; b=$?
		[ "$a" = "$b" ] || echo "--$prefix 1: $a / $b"
	done
done
