package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// ProgramVersion returns the version that the Makefile set or, if that is empty, the one of the module that go install
// built.
func ProgramVersion(set string) string {
	if info, ok := debug.ReadBuildInfo(); ok && set == "" {
		return info.Main.Version
	}
	return set
}

// BuildText says with what the program was built: some differences from util-linux depend on that.
func BuildText() string {
	how := "without make"
	isTag := func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && strings.Contains(s.Value, "flock_linkname")
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.ContainsFunc(info.Settings, isTag) {
		how = "with make"
	}
	return "built by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + ", " + how
}

// HelpText returns what --help prints, for the program called name.
func HelpText(name string) string {
	return `
Usage:
 ` + name + ` [options] <file>|<directory> <command> [<argument>...]
 ` + name + ` [options] <file>|<directory> -c <command>
 ` + name + ` [options] --fd <number> <command> [<argument>...]
 ` + name + ` [options] <file descriptor number>
 ` + name + ` --holders <file>|<directory>|<file descriptor number>

Lock a file around a command, or a file that a script has open.

Options:
 -s, --shared             get a shared lock
 -x, --exclusive          get an exclusive lock (default)
 -u, --unlock             remove a lock
 -n, --nonblocking        fail rather than wait
 -w, --timeout <secs>     wait for a limited amount of time
     --wait <secs>        same as --timeout
 -E, --conflict-exit-code <number>  exit code after conflict or timeout
 -o, --close              close file descriptor before running command
 -c, --command <command>  run a single command string through the shell
 -F, --no-fork            execute command without forking
     --fcntl              use fcntl(F_OFD_SETLK) rather than flock()
     --start <offset>     first byte to lock (implies --fcntl)
     --length <number>    number of bytes to lock, 0 to the end (implies --fcntl)
     --fd <number>        lock an open file descriptor around a command
     --verbose            increase verbosity

     --permits <number>   allow up to that many holders at once
     --cooldown <secs>    keep others with --cooldown out for that long afterwards
     --cooldown-from <moment>  count it from the start or end (default) of the
                          command, or from a success only
     --queue <number>     fail if that many wait already
     --replace            end the run with this option that has the lock
     --report <secs>      say who has the lock, after that long, again later,
                          and on failure
     --remove             remove the lock file after the command
     --limit <secs>       end the command, and all that it has started, after
                          that long or when flock dies (status 124)
     --kill-children      end what the command leaves behind
     --holders            list who holds the lock, or waits for it
     --backend <name>     auto, native, flock, fcntl or directory,
                          or a program flock-<name>

 -h, --help               display this help
 -V, --version            display version

For more details see flock(1).
`
}
