package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"example.org/flock/internal/sys"
)

// VersionText returns what --version prints, for the program called name. set is the version that the Makefile set, or
// empty. Scripts take the first number for the release of util-linux, and the last word for the version. A build without
// make says so, because signals that its caller ignores are not ignored in its commands.
func VersionText(name, set string) string {
	how := "in Go"
	if !builtWithMake() {
		how += ", built without make"
	}
	return name + " from util-linux 2.42 (compatible with it, " + how + "): flock-go " + ProgramVersion(set) + "\n"
}

// ProgramVersion returns set, the version that the Makefile set, or, if that is empty, the version of the module that
// go install built.
func ProgramVersion(set string) string {
	if info, ok := debug.ReadBuildInfo(); ok && set == "" {
		return info.Main.Version
	}
	return set
}

// BuildText says which release of Go built the program, for which system, and whether make did: some differences from
// util-linux depend on that.
func BuildText() string {
	how := "without make"
	if builtWithMake() {
		how = "with make"
	}
	return "built by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + ", " + how
}

// builtWithMake reports whether the program was built with the tag that the Makefile sets.
func builtWithMake() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && strings.Contains(s.Value, "flock_linkname")
	})
}

// HelpText returns what --help prints, for the program called name.
func HelpText(name string) string {
	name = sys.Printable(name)
	return `
Usage:
 ` + name + ` [options] <file>|<directory> <command> [<argument>...]
 ` + name + ` [options] <file>|<directory> -c <command>
 ` + name + ` [options] --fd <number> <command> [<argument>...]
 ` + name + ` [options] <file descriptor number>
 ` + name + ` [--backend <name>] --holders <file>|<directory>|<file descriptor number>

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
     --fd <number>        lock an open file descriptor, then run a command
     --verbose            increase verbosity

     --permits <number>   allow up to that many holders at once
     --cooldown <secs>    after the command, the lock counts as taken for
                          that long, for callers with --cooldown
     --cooldown-from <moment>  count the cooldown from the start, the end
                          (default) or the success of the command
     --queue <number>     fail if that many processes are waiting already
     --replace            end the run that holds the lock, if it used --replace
     --report <secs>      name the holder after waiting that long, then
                          repeatedly, and after a conflict
     --remove             remove the lock file after the command
     --limit <secs>       after that long (status 124), or if flock dies, end
                          the command and (on Linux) everything it started
     --kill-children      end what the command leaves behind
     --holders            list who holds the lock, or waits for it
     --backend <name>     auto, native, flock, fcntl or directory,
                          or a program flock-<name>

 -h, --help               display this help
 -V, --version            display version

For more details see ` + name + `(1).
`
}
