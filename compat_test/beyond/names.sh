Lock files with names that are hard to handle.

### names-odd
# needs: proc
cat >all.sh <<'END'
one() {
	hold "$1"
	flock -n "$1" true; echo $?
	flock --holders "$1" >/dev/null; echo $?
	release
	flock -n -- "$1" true; echo $?
}
END
. ./all.sh
for name in 'a b' $'new\nline' '*' "it's" $'tab\t' '$HOME' '\' ' ' . '.f.flock' 'x,y' 'free' '%41' $'\xff\xfe not UTF-8' 'ü'; do
	mkdir -p dir; cd dir
	[ "$name" = . ] || : >"$name"
	one "$name" | tr '\n' ' ' | grep -v '^1 0 0 $' | cat -v
	[ "$LOCKS" = native ] || [ "$(find . -exec printf . ';' | wc -c)" -eq 4 ] || [ "$name" = . ] || ls -A | cat -v
	cd ..; rm -r dir
done
echo done
#> done

### names-255-bytes
n=$(printf '%0255d' 1); m=$(printf '%0255d' 2)
: >$n; : >$m
flock $n flock -n $m echo another
#> another
flock $n flock -n $n echo the same; echo $?
#> 1
flock -n $n echo free
#> free
ls -A | awk '{print (length($0) <= 255)}' | uniq
#> 1

### names-255-bytes-that-differ-in-the-middle
# needs: byte-names
a=$(printf 'ä%.0s' $(seq 127)); b=${a:0:60}o${a:61}
flock "$a" flock -n "$b" echo another
#> another
flock "$a" flock -n "$a" echo the same; echo $?
#> 1

### names-of-directories
# needs: byte-names
mkdir $'odd\n\xff dir' "$(printf '%0255d' 1)"
for d in */; do
	flock "$d" flock -n "$d" true; echo $?
	flock "$d/f" flock -n "$d/f" true; echo $?
	( cd "$d"; flock . flock -n "../$d" true; echo $? )
done | uniq
#> 1

### names-long-path-in-flock-dir
# directory: only
mkdir state; export FLOCK_DIR=$PWD/state
d=$(printf '%0200d' 1); mkdir -p $d/$d/$d
flock $d/$d/$d/f flock -n $d/$d/$d/f true; echo $?
#> 1
flock $d/$d/$d/f flock -n $d/$d/$d/g echo another
#> another
flock $d/$d/$d/f flock -n $d/$d/f echo another
#> another

### names-two-ways-to-one-file
mkdir d; : >d/f; ln -s d e; ln -s d/f l
for name in d/f e/f l ./l d/../e/f "$PWD/d//f"; do
	flock d/f flock -n "$name" true; echo $?
done | uniq
#> 1

### names-flock-dir-two-files
# directory: only
mkdir state; export FLOCK_DIR=$PWD/state
mkdir a a+b; : >a/b; : >a+b/c
# whatever stands for the slash, the two are two
mkdir 'a%2Bb' 'a b'
for x in a/f 'a+f' 'a%2Ff' 'a b/f' 'a%20b/f'; do mkdir -p "$(dirname "$x")"; : >"$x"; done
for x in a/f 'a+f' 'a%2Ff' 'a b/f'; do for y in a/f 'a+f' 'a%2Ff' 'a b/f' 'a%20b/f'; do
	flock "$x" flock -n "$y" true; got=$?
	[ "$x" = "$y" ] && want=1 || want=0
	[ $got = $want ] || echo "$x $y $got"
done; done
echo done
#> done

### names-on-a-terminal
# needs: script
: a terminal would obey what is in a name
cat >try <<-'END'
	flock "$(printf 'no/\033[31m')" true
	flock "$(printf -- '-\033[31m')" f true
END
script -qec 'sh try' /dev/null | tr -d '\r' | cat -v
#> flock: cannot open lock file no/?[31m: No such file or directory
#> flock: unrecognized option '-?[31m'
#> Try 'flock --help' for more information.
