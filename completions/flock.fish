# fish completion for flock(1).

# Whether the value of an option is the next word.
function __fish_flock_needs_value -a word
    switch $word
        case --fd --timeout --wait --conflict-exit-code --start --length --backend --permits --cooldown --cooldown-from --queue --report --limit
        case '--*'
            return 1
        case '-*w' '-*E'
        case '*'
            return 1
    end
end

# Print what the words before the cursor contain: "none" if there is no lock file
# yet, "file" if there is one, "fd" after --fd, "command" if a command has begun,
# "over" if nothing can follow because --holders has its file.
function __fish_flock_place
    set -l words (commandline -opc)
    set -e words[1]
    set -l place none
    set -l fd 0
    set -l value 0
    set -l holders 0
    for word in $words
        if test $value = 1
            set value 0
            continue
        end
        if test $place != none
            test $place = over; or set place command
            continue
        end
        switch $word
            case --
                set place (test $fd = 1; and echo file; or echo dashes)
            case -c --command
                test $fd = 1; and set place command
            case --holders
                set holders 1
            case --fd '--fd=*'
                set fd 1
            case '-?*'
            case '*'
                set place (test $fd = 1; and echo command; or echo file)
        end
        test $place = none; and __fish_flock_needs_value $word; and set value 1
        if test $place = dashes
            # The options have ended, the lock file is still missing.
            set place none
        end
        test $holders = 1 -a $place != none; and set place over
    end
    if test $place = none -a $fd = 1
        set place fd
    end
    echo $place
end

function __fish_flock_is
    contains -- (__fish_flock_place) $argv
end

# Complete the command after the lock file as if it were the whole line.
function __fish_flock_subcommand
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -e words[1]
    set -l fd 0
    while set -q words[1]
        set -l word $words[1]
        switch $word
            case --fd '--fd=*'
                set fd 1
            case '-?*'
                test "$word" = -c; and break
            case '*'
                break
        end
        __fish_flock_needs_value $word; and set -e words[1]
        set -e words[1]
        test "$word" = --; and break
    end
    test $fd = 0; and set -e words[1]
    if contains -- "$words[1]" -c --command
        set -q words[2]; and return
        complete -C "$token"
        return
    end
    complete -C (string join ' ' -- (string escape -- $words) $token)
end

function __fish_flock_descriptors
    if test -d /proc/$fish_pid/fd
        command ls /proc/$fish_pid/fd
    else
        seq 3 9
    end
end

# Print the backends that are programs, flock-NAME. flock-go is flock itself.
function __fish_flock_programs
    complete -C flock- | string replace -rf '^flock-([a-z0-9]+)(\t.*)?$' '$1' | string match -v go
end

for command in flock flock-go flock-etcd flock-postgres
    set -l options -c $command -n '__fish_flock_is none fd'
    complete -c $command -f
    complete -c $command -n '__fish_flock_is none' -F
    complete $options -s s -l shared -d 'Take a shared lock'
    complete $options -s x -l exclusive -d 'Take an exclusive lock (default)'
    complete $options -s e -d 'Take an exclusive lock (default)'
    complete $options -s n -l nonblocking -d 'Fail rather than wait'
    complete $options -s w -l timeout -x -d 'Wait at most that many seconds'
    complete $options -l wait -x -d 'Wait at most that many seconds'
    complete $options -s E -l conflict-exit-code -x -d 'Exit status after a conflict or timeout'
    complete $options -l permits -x -d 'Allow up to that many holders at once'
    complete $options -l cooldown -x -d 'Block others that use --cooldown for that many seconds afterwards'
    complete $options -l cooldown-from -x -d 'Count the cooldown from this' \
        -a "start\t'When the lock is taken' end\t'The end of the command (default)' success\t'The same, but no cooldown after a failure'"
    complete $options -l queue -x -d 'Fail if that many are waiting already'
    complete $options -l report -x -d 'Name the holder after waiting that many seconds, and again later'
    complete $options -l limit -x -d 'End the command and everything it started after that many seconds'
    complete $options -l kill-children -d 'End what the command leaves behind'
    complete $options -l holders -d 'List who holds the lock or waits for it'
    complete $options -l verbose -d 'Print what flock does'
    if not contains $command flock-etcd flock-postgres # which open no file
        complete $options -s u -l unlock -d 'Release the lock of a descriptor'
        complete $options -s F -l no-fork -d 'Become the command instead of running it'
        complete $options -l fd -x -a '(__fish_flock_descriptors)' -d 'Lock an open descriptor, run a command'
        complete $options -l fcntl -d 'Use open file description locks'
        complete $options -l start -x -d 'Lock from this byte on'
        complete $options -l length -x -d 'Lock that many bytes'
        complete $options -s o -l close -d 'Close the descriptor before running the command'
        complete $options -l backend -x -d 'Choose the kind of lock' \
            -a "auto\t'flock(2), else fcntl, else directory' native\t'Auto without directory' flock\t'flock(2)' fcntl\t'Open file description locks' directory\t'A directory beside the file' (__fish_flock_programs)"
        complete $options -l remove -d 'Remove the lock file afterwards'
        complete $options -l replace -d 'End the run that holds the lock'
    else
        complete $options -l break -d 'Take the lock away from its holder'
    end
    if test $command = flock-postgres
        complete $options -l schema -d 'Print the SQL that makes the tables'
    end
    complete $options -s h -l help -d 'Show the options'
    complete $options -s V -l version -d 'Show the version'
    complete -c $command -n '__fish_flock_is file fd' -s c -l command -d 'Run a string with the shell'
    complete -c $command -n '__fish_flock_is file fd command' -x -a '(__fish_flock_subcommand)'
end
