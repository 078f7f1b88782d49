What --remove cannot be combined with, and why.

# alike: options are read before the way of locking is chosen

### remove-refused
exec 9>>f
for o in '9' '-u 9' '--fd 9 true' '-u f true' '-F f true' '--cooldown 5 f true'; do
	flock --remove $o; echo $?
done
#> flock: --remove cannot be combined with a descriptor: it needs the file and a command
#> 64
#> flock: --remove cannot be combined with a descriptor: it needs the file and a command
#> 64
#> flock: --remove cannot be combined with a descriptor: it needs the file and a command
#> 64
#> flock: --remove cannot be combined with --unlock: a lock is needed to remove the file
#> 64
#> flock: --remove cannot be combined with --no-fork: nobody would be left to remove the file
#> 64
#> flock: --remove cannot be combined with --cooldown, whose end is kept in the file
#> 64
ls
#> f

### remove-refused-holders
# needs: proc
flock --remove --holders f; echo $?
#> flock: --remove cannot be combined with --holders, which locks nothing
#> 64

### remove-refused-ranges
# kernel: the directory lock has no ranges
for o in '--start 0' '--length 1' '--fcntl --start 1'; do
	flock $o --remove f true; echo $?
done
#> flock: --remove cannot be combined with --start or --length: others may use the rest of the file
#> 64
#> flock: --remove cannot be combined with --start or --length: others may use the rest of the file
#> 64
#> flock: --remove cannot be combined with --start or --length: others may use the rest of the file
#> 64
ls

### remove-refused-directory
mkdir d
for o in '' -s -n -o; do flock --remove $o d echo in; echo $?; done | uniq -c | sed 's/^ *//'
#> flock: --remove cannot be combined with a directory: d
#> flock: --remove cannot be combined with a directory: d
#> flock: --remove cannot be combined with a directory: d
#> flock: --remove cannot be combined with a directory: d
#> 4 64
ls -A . d
#> .:
#> d
#> 
#> d:

### remove-takes-no-value
flock --remove=yes f true; echo $?
#> flock: unrecognized option '--remove=yes'
#> Try 'flock --help' for more information.
#> 64
