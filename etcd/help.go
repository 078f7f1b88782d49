//go:build unix

package main

// helpText returns what --help prints, for the program called name.
func helpText(name string) string {
	return `
Usage:
 ` + name + ` [options] <name> <command> [<argument>...]
 ` + name + ` [options] <name> -c <command>
 ` + name + ` --holders [<name>]

Run a command under a lock in etcd, which all machines of a fleet share.
It is also run as: flock --backend etcd [options] <name> ...

Options:
 -s, --shared             get a shared lock
 -x, --exclusive          get an exclusive lock (default)
 -n, --nonblocking        fail rather than wait
 -w, --timeout <secs>     wait for a limited amount of time
     --wait <secs>        same as --timeout
 -E, --conflict-exit-code <number>  exit code after conflict or timeout
 -c, --command <command>  run a single command string through the shell
     --permits <number>   allow up to that many holders at once
     --cooldown <secs>    let nobody have the lock for that long after its holder
     --queue <number>     fail if that many wait already
     --report <secs>      say who has the lock, after that long and on failure
     --holders            list who holds the lock or waits, or all locks
     --verbose            increase verbosity
 -h, --help               display this help
 -V, --version            display version

The name is a word, or an absolute path; no file is opened.

Environment:
 ETCDCTL_ENDPOINTS, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER,
 ETCDCTL_PASSWORD, ETCDCTL_DIAL_TIMEOUT and others, as for etcdctl
 FLOCK_ETCD_PASSWORD_FILE  a file with the password, which only its owner may use
 FLOCK_ETCD_PREFIX         how the keys of all locks begin (/flock)
 FLOCK_ETCD_TTL            seconds until the lock of a machine that died is free (10)

For more details see flock-etcd(1).
`
}
