/*
 * A small flock that behaves like the reference. It can be compiled with one fault: -DMUTANT='"never-waits"'. Its only
 * purpose is to show that the cases see such faults.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MUTANT
#define MUTANT ""
#endif
#define M(name) (strcmp(MUTANT, name) == 0)

extern char **environ;
static const char *me;
static int mode = LOCK_EX, nonblock, use_fcntl, conflict = 1, close_it, no_fork, verbose, timer_set;
static long long start, length;
static double seconds = -1;
static volatile sig_atomic_t late;

static void say(const char *format, va_list args, int code)
{
	if (M("silent-errors")) return;
	if (M("errors-to-stdout")) { printf("%s: ", me); vprintf(format, args); printf("\n"); return; }
	fprintf(stderr, "%s: ", M("name-is-whole-argv0") ? program_invocation_name : M("name-is-fixed") ? "flock" : me);
	vfprintf(stderr, format, args);
	if (code) fprintf(stderr, M("no-error-text") ? ": error" : ": %s", strerror(code));
	fputs(M("extra-byte") ? " \n" : "\n", stderr);
}

static void fail(int status, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(format, args, code);
	exit(M("fails-with-1") ? 1 : status);
}

static void usage_error(const char *format, const char *what)
{
	fprintf(stderr, "%s: ", me);
	fprintf(stderr, M("old-wording") ? "bad usage" : format, what);
	fprintf(stderr, M("no-try-line") ? "\n" : "\nTry '%s --help' for more information.\n", me);
	exit(M("usage-is-2") ? 2 : 64);
}

static void flush_at_exit(void)
{
	if (M("write-errors-ignored")) return;
	errno = 0;
	if ((ferror(stdout) | fclose(stdout)) && errno != EBADF && errno != EPIPE) {
		fprintf(stderr, "%s: write error: %s\n", me, strerror(errno));
		_exit(1);
	}
	if ((ferror(stderr) | fclose(stderr)) && errno != EBADF) _exit(1);
}

static long number(const char *s, const char *what, long low, long high)
{
	char *end;
	errno = 0;
	long v = strtol(s, &end, M("numbers-any-base") ? 0 : 10);
	if (end > s && (errno || (low >= 0 && v < 0)) && !M("numbers-without-range")) fail(64, ERANGE, "%s: '%s'", what, s);
	if (end == s || (*end && !M("numbers-with-rubbish"))) fail(64, 0, "%s: '%s'", what, s);
	if ((v < low || v > high) && !M("numbers-without-range")) fail(64, ERANGE, "%s: '%s'", what, s);
	return v;
}

static long long size(const char *s, const char *what)
{
	static const char units[] = "KMGTPEZY";
	const char *p = s;
	char *end;
	int code = EINVAL;
	while (isspace((unsigned char)*p)) p++;
	if (!isdigit((unsigned char)*p)) goto bad;
	errno = 0;
	unsigned long long v = strtoull(p, &end, M("sizes-decimal") ? 10 : 0);
	if (errno) { code = ERANGE; goto bad; }
	const char *digits = "";
	int places = 0;
	if (*end == '.') {
		digits = ++end;
		while (isdigit((unsigned char)*end)) end++;
		places = (const char *)end - digits;
		if (!*end) goto bad;
	}
	if (*end) {
		const char *u = strchr(units, toupper((unsigned char)*end));
		if (!u) goto bad;
		int base = 1024, power = u - units + 1;
		if (!strcmp(end + 1, "B")) base = 1000;
		else if (end[1] && strcmp(end + 1, "iB")) goto bad;
		if (M("suffix-is-1000")) base = 1000;
		if (M("suffix-is-1024")) base = 1024;
		unsigned __int128 total = v;
		unsigned __int128 unit = 1;
		while (power--) unit *= base;
		total *= unit;
		if (total > ULLONG_MAX) { code = ERANGE; goto bad; }
		if (M("exact-fractions")) {
			char text[64];
			snprintf(text, sizeof text, ".%.*s", places, digits);
			total += (unsigned __int128)(strtod(text, NULL) * (double)unit);
		} else if (!M("no-fractions")) {
			unsigned long long tenth = 10;
			for (int i = 0; i < places; i++, tenth *= 10)
				if (digits[i] > '0') total += unit / (tenth / (digits[i] - '0'));
		}
		v = total;
	}
	return v;
bad:
	fail(64, code, "invalid as %s: '%s'", what, s);
	return 0;
}

static void alarmed(int n, siginfo_t *info, void *context)
{
	(void)n; (void)context;
	if (info->si_code == SI_TIMER || M("any-alarm-ends-the-wait")) late = 1;
}

static timer_t timer;

static void start_timer(double s)
{
	struct sigaction act = { .sa_sigaction = alarmed, .sa_flags = SA_SIGINFO };
	struct itimerspec when = { .it_value = { s, (s - floor(s)) * 1e9 } };
	if (M("alarm-dies")) act.sa_handler = SIG_DFL, act.sa_flags = 0;
	if (sigaction(SIGALRM, &act, NULL)) fail(71, errno, "cannot set up timer");
	if (timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM }, &timer)) {
		if (M("no-timer-no-lock")) return;
		fail(71, errno, "cannot set up timer");
	}
	if (timer_settime(timer, 0, &when, NULL)) fail(71, errno, "cannot set up timer");
}

static int lock(int fd)
{
	int how = mode, block = nonblock ? LOCK_NB : 0;
	if (M("shared-is-exclusive") && how == LOCK_SH) how = LOCK_EX;
	if (M("exclusive-is-shared") && how == LOCK_EX) how = LOCK_SH;
	if (M("unlock-does-nothing") && how == LOCK_UN) return 0;
	if (M("never-locks") && how != LOCK_UN) return 0;
	if (M("never-waits")) block = LOCK_NB;
	if (M("ignores-n")) block = 0;
	if (M("unlocks-first") && how != LOCK_UN) flock(fd, LOCK_UN);
	if (M("polls")) {
		while (flock(fd, how | LOCK_NB)) {
			if (errno != EAGAIN || block || late) return -1;
			usleep(2000);
		}
		return 0;
	}
	if (!use_fcntl || M("fcntl-is-flock")) {
		if (M("flock-is-fcntl")) {
			struct flock l = { how == LOCK_EX ? F_WRLCK : how == LOCK_SH ? F_RDLCK : F_UNLCK, SEEK_SET, 0, 0, 0 };
			return fcntl(fd, block ? F_OFD_SETLK : F_OFD_SETLKW, &l);
		}
		return flock(fd, how | block);
	}
	struct flock l = { how == LOCK_EX ? F_WRLCK : how == LOCK_SH ? F_RDLCK : F_UNLCK, SEEK_SET, start, length, 0 };
	if (M("whole-file-only")) l.l_start = l.l_len = 0;
	if (M("ignores-start")) l.l_start = 0;
	if (M("ignores-length")) l.l_len = 0;
	if (M("length-0-is-1") && !l.l_len) l.l_len = 1;
	if (M("posix-locks")) return fcntl(fd, block ? F_SETLK : F_SETLKW, &l);
	return fcntl(fd, block ? F_OFD_SETLK : F_OFD_SETLKW, &l);
}

static void become(char **argv)
{
	if (M("go-like-path") && !strchr(argv[0], '/') && (!getenv("PATH") || !*getenv("PATH") || getenv("PATH")[0] == ':'))
		_exit(69);
	if (M("no-path-search") || M("no-enoexec")) {
		if (M("no-path-search") || strchr(argv[0], '/')) execve(argv[0], argv, environ);
		else execvp(argv[0], argv);
	} else if (M("first-on-path") && !strchr(argv[0], '/')) {
		char path[PATH_MAX], *dirs = strdup(getenv("PATH") ? getenv("PATH") : ""), *dir;
		while ((dir = strsep(&dirs, ":"))) {
			snprintf(path, sizeof path, "%s/%s", *dir ? dir : ".", argv[0]);
			if (access(path, F_OK) == 0) break;
		}
		if (dir) execve(path, argv, environ); else errno = ENOENT;
	} else if (M("stops-at-eacces") && !strchr(argv[0], '/')) {
		char path[PATH_MAX], *dirs = strdup(getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin"), *dir;
		errno = ENOENT;
		while ((dir = strsep(&dirs, ":"))) {
			snprintf(path, sizeof path, "%s/%s", *dir ? dir : ".", argv[0]);
			execve(path, argv, environ);
			if (errno == ENOEXEC) execvp(path, argv);
			if (errno == EACCES) break;
		}
	} else if (M("forgets-eacces") && !strchr(argv[0], '/')) {
		execvp(argv[0], argv);
		errno = ENOENT;
	} else if (M("path-errors-all-passed") && !strchr(argv[0], '/')) {
		execvp(argv[0], argv);
		if (errno == ELOOP || errno == ENAMETOOLONG) {
			char path[PATH_MAX], *dirs = strdup(getenv("PATH")), *dir;
			while ((dir = strsep(&dirs, ":"))) {
				snprintf(path, sizeof path, "%s/%s", *dir ? dir : ".", argv[0]);
				execve(path, argv, environ);
			}
		}
	} else if (M("enoexec-by-shell-variable")) {
		execve(argv[0], argv, environ);
		if (errno == ENOEXEC) execl(getenv("SHELL"), getenv("SHELL"), argv[0], NULL);
		execvp(argv[0], argv);
	} else if (M("argv0-is-path")) {
		char *real = realpath(argv[0], NULL);
		if (real && strchr(argv[0], '/')) argv[0] = real;
		execvp(argv[0], argv);
	} else if (M("drops-last-argument") && argv[1]) {
		int n = 0;
		while (argv[n]) n++;
		argv[n - 1] = NULL;
		execvp(argv[0], argv);
	} else if (M("drops-empty-arguments")) {
		int n = 1;
		for (int i = 1; argv[i]; i++) if (*argv[i]) argv[n++] = argv[i];
		argv[n] = NULL;
		execvp(argv[0], argv);
	} else {
		execvp(argv[0], argv);
		if (M("path-ends-with-enoent") && !strchr(argv[0], '/') && errno == ENOTDIR) errno = ENOENT;
	}
	int code = errno;
	fprintf(stderr, M("old-exec-text") ? "%s: %s: %s\n" : "%s: failed to execute %s: %s\n", me, argv[0], strerror(code));
	fflush(stderr);
	if (M("exec-lacks-resources") && (code == EAGAIN || code == EMFILE || code == ENFILE)) _exit(71);
	_exit(M("exec-fails-with-127") ? 127 : code == ENOMEM ? 71 : 69);
}

static void spoil(int fd, int filename)
{
	/* each of these changes something that the command inherits */
	sigset_t set;
	sigemptyset(&set);
	if (M("resets-ignored")) for (int i = 1; i < 65; i++) signal(i, SIG_DFL);
	if (M("resets-ignored-pipe")) signal(SIGPIPE, SIG_DFL);
	if (M("resets-ignored-real-time")) for (int i = 34; i < 65; i++) signal(i, SIG_DFL);
	if (M("resets-ignored-int")) signal(SIGINT, SIG_DFL), signal(SIGQUIT, SIG_DFL);
	if (M("resets-ignored-hup")) signal(SIGHUP, SIG_DFL);
	if (M("ignores-pipe")) signal(SIGPIPE, SIG_IGN);
	if (M("unblocks")) sigprocmask(SIG_SETMASK, &set, NULL);
	if (M("blocks")) { sigaddset(&set, SIGUSR2); sigprocmask(SIG_BLOCK, &set, NULL); }
	if (M("umask-0")) umask(0);
	if (M("umask-077")) umask(077);
	if (M("chdir")) (void)!chdir("/");
	if (M("chdir-physical")) (void)!chdir("..");
	if (M("nofile-raised")) {
		struct rlimit l;
		getrlimit(RLIMIT_NOFILE, &l);
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	if (M("core-limited")) { struct rlimit l = { 0, 0 }; setrlimit(RLIMIT_CORE, &l); }
	if (M("stack-limited")) { struct rlimit l = { 1 << 20, 1 << 20 }; setrlimit(RLIMIT_STACK, &l); }
	if (M("nicer")) (void)!nice(1);
	if (M("adds-environment")) setenv("FLOCKED", "1", 1);
	if (M("sets-underscore")) setenv("_", "flock", 1);
	if (M("drops-environment")) clearenv();
	if (M("drops-duplicates") && getenv("B")) { char *b = getenv("B"); unsetenv("B"); setenv("B", b, 1); }
	if (M("leaks-fd")) (void)!open("/dev/null", O_RDONLY);
	if (M("leaks-high-fd")) dup2(2, 50);
	if (M("closes-others")) { for (int i = 4; i < 256; i++) if (i != fd) close(i); }
	if (M("cloexec") && fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (M("nonblocking-stdin")) fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
	if (M("blocking-stdin")) fcntl(0, F_SETFL, fcntl(0, F_GETFL) & ~O_NONBLOCK);
	if (M("blocking-stdout")) fcntl(1, F_SETFL, fcntl(1, F_GETFL) & ~O_NONBLOCK);
	if (M("stdin-null")) { int n = open("/dev/null", O_RDONLY); dup2(n, 0); close(n); }
	if (M("stderr-null")) { int n = open("/dev/null", O_WRONLY); dup2(n, 2); close(n); }
	if (M("stdout-null")) { int n = open("/dev/null", O_WRONLY); dup2(n, 1); close(n); }
	if (M("new-session")) setsid();
	if (M("new-group")) setpgid(0, 0);
	if (M("affinity-reset")) { cpu_set_t all; memset(&all, 255, sizeof all); sched_setaffinity(0, sizeof all, &all); }
	if (M("unlocks-early") && fd >= 0 && filename) flock(fd, LOCK_UN);
	if (M("oom-reset")) { int n = open("/proc/self/oom_score_adj", O_WRONLY); if (n >= 0) { (void)!write(n, "0", 1); close(n); } }
}

static int open_file(const char *name)
{
	int flags = use_fcntl && mode != LOCK_SH ? O_WRONLY : O_RDONLY, fd;
	if (M("opens-read-write")) flags = O_RDWR;
	if (M("fcntl-opens-read-only")) flags = O_RDONLY;
	if (M("fcntl-shared-opens-write-only") && use_fcntl) flags = O_WRONLY;
	if (M("nonblocking-open")) flags |= O_NONBLOCK;
	if (M("truncates")) flags |= O_TRUNC;
	if (M("no-follow")) flags |= O_NOFOLLOW;
	if (M("other-file")) name = "/tmp";
	if (!M("does-not-create")) flags |= O_CREAT;
	flags |= O_NOCTTY;
	if (M("high-number")) { int n; dup2(2, 3); n = open("/dev/null", O_RDONLY); (void)n; }
	fd = open(name, flags, M("mode-600") ? 0600 : M("mode-777") ? 0777 : 0666);
	if (fd < 0 && errno == EISDIR && !M("no-directories")) fd = open(name, (flags & ~O_CREAT));
	if (fd < 0) {
		int code = errno;
		if (code == EISDIR && use_fcntl) {
			if (access(name, R_OK | W_OK) && !M("directory-is-a-directory")) code = errno;
			fail(65, code, "%s", name);
		}
		fail(M("open-fails-with-66") ? 66 :
			code == ENOMEM || code == EMFILE || code == ENFILE ? 71 : code == EROFS || code == ENOSPC ? 73 : 66,
			code, "cannot open lock file %s", name);
	}
	if (M("high-number")) close(3);
	if (M("touches")) futimens(fd, NULL);
	if (M("changes-mode")) fchmod(fd, 0600);
	if (M("writes-pid")) { int n = open(name, O_WRONLY); (void)!write(n, "1\n", 2); close(n); }
	if (M("reads-file")) { char b[4]; (void)!read(fd, b, 4); }
	return fd;
}

static struct option names[] = {
	{ "shared", 0, 0, 's' }, { "exclusive", 0, 0, 'x' }, { "unlock", 0, 0, 'u' }, { "nonblocking", 0, 0, 'n' },
	{ "nb", 0, 0, 'n' }, { "timeout", 1, 0, 'w' }, { "wait", 1, 0, 'w' }, { "conflict-exit-code", 1, 0, 'E' },
	{ "close", 0, 0, 'o' }, { "no-fork", 0, 0, 'F' }, { "verbose", 0, 0, 1 }, { "fcntl", 0, 0, 2 },
	{ "start", 1, 0, 3 }, { "length", 1, 0, 4 }, { "fd", 1, 0, 5 }, { "help", 0, 0, 'h' }, { "version", 0, 0, 'V' }, { 0 }
};

static void help(void)
{
	if (M("no-help")) exit(0);
	printf("%s:\n %s [options] <file>|<directory> <command>\n %s [options] <file>|<directory> -c <command>\n %s [options] <number>\n\n",
		M("no-usage-line") ? "flock" : "Usage", me, me, me);
	printf(" -s, --shared\n -x, --exclusive\n -u, --unlock\n -n, --nonblocking (--nonblock)\n -w, --wait, --timeout <secs>\n"
		" -E, --conflict-exit-code <number>\n -o, --close\n -c, --command <command>\n -F, --no-fork\n --verbose\n"
		" --start <n>\n --length <n>\n --fd <n>\n -h, --help\n -V, --version\n");
	if (!M("help-forgets-fcntl")) printf(" --fcntl\n");
}

int main(int argc, char **argv)
{
	int alarm_ignored = signal(SIGALRM, SIG_DFL) == SIG_IGN;
	if (alarm_ignored) signal(SIGALRM, SIG_IGN);
	me = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	if (M("forgets-argv0")) me = "flock";
	atexit(flush_at_exit);
	opterr = 0;
	int fd = -1, filename = 0, c, given_fd = -1, word;
	char *name, **command = NULL, *shell_argv[4] = { 0 }, *shell = NULL;

	if (M("catches-signals")) for (int i = 1; i < 32; i++) {
		struct sigaction old;
		sigaction(i, NULL, &old);
		if (old.sa_handler != SIG_IGN) signal(i, _exit);
	}
	if (M("catches-term")) signal(SIGTERM, exit);
	if (M("ignores-signals")) for (int i = 1; i < 65; i++) if (i != SIGALRM && i != SIGCHLD) signal(i, SIG_IGN);
	if (M("ignores-stops")) signal(SIGTSTP, SIG_IGN), signal(SIGTTIN, SIG_IGN), signal(SIGTTOU, SIG_IGN);
	if (M("dies-of-winch")) signal(SIGWINCH, _exit), signal(SIGCHLD, _exit);
	if (M("dumps-on-quit")) signal(SIGQUIT, abort);
	if (M("real-time-ignored")) for (int i = 34; i < 65; i++) signal(i, SIG_IGN);
	if (M("resets-at-start")) for (int i = 1; i < 65; i++) signal(i, SIG_DFL);
	if (M("prints-noise")) puts("noise"), fflush(stdout);
	if (M("prints-noise-to-stderr")) fputs("noise\n", stderr);
	if (M("exits-0-at-once")) exit(0);
	if (M("exits-1-at-once")) exit(1);
	if (M("hangs")) pause();

	if (argc < 2) { usage_error("%s", "not enough arguments"); }
	while (word = optind, optopt = 0, (c = getopt_long(argc, argv,
			M("permutes") ? ":sexnouw:E:FhV" : M("c-is-an-option") ? "+:sexnouw:E:FhVc:" : "+:sexnouw:E:FhV", names, NULL)) != -1) {
		char *typed = argv[optind - 1];
		switch (c) {
		case 's': if (!M("ignores-s")) mode = LOCK_SH; break;
		case 'e': if (M("no-e")) usage_error("unrecognized option '%s'", typed); /* fall through */
		case 'x': if (!M("first-mode-wins") || mode == LOCK_EX) mode = LOCK_EX; break;
		case 'u': if (!M("ignores-u")) mode = LOCK_UN; break;
		case 'n': nonblock = 1; break;
		case 'o': close_it = !M("ignores-o"); break;
		case 'F': no_fork = !M("ignores-F"); break;
		case 1: verbose = !M("ignores-verbose"); break;
		case 2: use_fcntl = 1; break;
		case 3: start = size(optarg, "start offset"); if (!M("start-alone")) use_fcntl = 1; break;
		case 4: length = size(optarg, "length of lock range"); if (!M("length-alone")) use_fcntl = 1; break;
		case 5: given_fd = !strcmp(optarg, "-4294967295") ? 1 : number(optarg, "invalid file descriptor", INT_MIN, INT_MAX); filename = 2; break;
		case 'w': {
			char *end;
			errno = 0;
			seconds = M("integer-seconds") ? strtol(optarg, &end, 10) : strtold(optarg, &end);
			if (errno && !M("timeout-without-range")) fail(64, errno, "invalid timeout: '%s'", optarg);
			if (M("plain-decimals-only") && strspn(optarg, "0123456789.") != strlen(optarg)) end = optarg;
			if (end == optarg || (*end && !M("timeout-with-rubbish"))) fail(64, 0, "invalid timeout: '%s'", optarg);
			if (M("first-w-wins") && timer_set) break;
			timer_set = !M("ignores-w");
			break;
		}
		case 'E': conflict = number(optarg, "invalid exit code (allowed values: 0-255)", 0, 255); break;
		case 'h': help(); exit(M("help-exits-1") ? 1 : 0);
		case 'V': printf(M("other-version") ? "flock 1\n" : "%s from util-linux 2.43\n", me); exit(0);
		case ':': usage_error("option '%s' requires an argument", typed);
		default:
			if (!strcmp(typed, "-c") || !strcmp(typed, "--command")) {
				shell = typed;
				if (M("c-ends-options")) goto parsed;
				break;
			}
			if (M("accepts-unknown")) break;
			usage_error("unrecognized option '%s'", typed);
		}
	}
parsed:
	if (M("ignores-E")) conflict = 1;
	if (no_fork && close_it && !M("F-with-o")) fail(64, 0, "the --no-fork and --close options are incompatible");
	if (M("no-abbreviations")) for (int i = 1; i < optind; i++) {
		int known = strncmp(argv[i], "--", 2) != 0 || !argv[i][2];
		size_t n = strcspn(argv[i], "=") - 2;
		for (int j = 0; !known && names[j].name; j++) known = strlen(names[j].name) == n && !strncmp(argv[i] + 2, names[j].name, n);
		if (!known && strcmp(argv[i], "--nonblock")) usage_error("unrecognized option '%s'", argv[i]);
	}
	if (M("no-nonblocking-name")) for (int i = 1; i < optind; i++) if (!strncmp(argv[i], "--non", 5)) usage_error("unrecognized option '%s'", argv[i]);
	if (M("no-equals")) for (int i = 1; i < optind; i++) if (!strncmp(argv[i], "--", 2) && strchr(argv[i], '=')) usage_error("unrecognized option '%s'", argv[i]);
	if (M("no-clusters")) for (int i = 1; i < optind; i++) if (argv[i][0] == '-' && isalpha((unsigned char)argv[i][1]) && argv[i][2]) usage_error("unrecognized option '%s'", argv[i]);
	if (M("no-dashdash")) for (int i = 1; i < optind; i++) if (!strcmp(argv[i], "--")) { optind = i; break; }

	if (shell && argc - optind != 1) fail(64, 0, "%s requires exactly one command argument", shell);
	if (shell && filename != 2) fail(64, 0, "missing file descriptor, file or directory");
	if (optind >= argc - (filename == 2 ? 0 : 1)) {
		/* a descriptor number, or no operand */
		if (filename == 2) fail(64, 0, "missing command");
		if (optind == argc) fail(64, 0, "missing file descriptor, file or directory");
		fd = number(argv[optind], "invalid file descriptor", INT_MIN, INT_MAX);
		if (M("number-is-a-file")) fd = open(argv[optind], O_CREAT, 0666);
		name = argv[optind];
		if (fd < 0) fail(64, 0, "missing file descriptor, file or directory");
	} else {
		if (filename == 2) {
			static char text[16];
			if (given_fd < 0) fail(64, 0, "missing file descriptor, file or directory");
			snprintf(text, sizeof text, "%d", given_fd);
			name = text;
			fd = given_fd;
			optind--;
		} else {
			name = argv[optind];
			filename = 1;
		}
		char *next = argv[optind + 1];
		if (shell) optind--;
		if (shell || filename == 1 && (!strcmp(next, "-c") || (!strcmp(next, "--command") && !M("no-long-command")) || (M("c-attached") && !strncmp(next, "-c", 2)))) {
			if (argc != optind + 3 && !M("c-many")) fail(64, 0, "%s requires exactly one command argument", next);
			shell_argv[0] = getenv("SHELL");
			if (!shell_argv[0] || (!*shell_argv[0] && !M("empty-shell"))) shell_argv[0] = "/bin/sh";
			if (M("always-bash")) shell_argv[0] = "/bin/bash";
			if (M("always-sh")) shell_argv[0] = "/bin/sh";
			shell_argv[1] = M("shell-login") ? "-lc" : "-c";
			shell_argv[2] = argv[optind + 2];
			command = shell_argv;
		} else {
			command = argv + optind + 1;
		}
		if (M("number-before-command-is-a-descriptor") && isdigit((unsigned char)*name) && filename == 1) { fd = atoi(name); filename = 0; }
		else if (filename == 1) fd = open_file(name);
	}

	if (timer_set) {
		if (seconds * 1e6 < 1 + 1e-6 && !M("w-0-waits")) nonblock = 1;
		else start_timer(M("w-twice-as-long") ? seconds * 20 + 6 : M("w-early") ? seconds / 100 : seconds);
	}
	if (M("waits-with-n")) nonblock = 0;
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	while (lock(fd)) {
		if (errno == EINTR) {
			if (late) {
				if (verbose) fprintf(stderr, "%s: %s\n", me, M("one-text") ? "failed to get lock" : "timeout while waiting to get lock");
				exit(conflict);
			}
			if (M("eintr-fails")) fail(65, EINTR, "%s", name);
			continue;
		}
		if (errno == EAGAIN || errno == EACCES) {
			if (verbose) fprintf(stderr, "%s: failed to get lock\n", me);
			if (M("runs-anyway")) break;
			exit(M("conflict-is-0") ? 0 : conflict);
		}
		int code = errno;
		if ((code == EBADF || code == EIO) && !use_fcntl && mode != LOCK_SH && filename == 1 && access(name, R_OK | W_OK) == 0 && !M("no-reopen")) {
			static int once;
			if (!once++) {
				close(fd);
				fd = open(name, O_RDWR | O_NOCTTY);
				if (fd >= 0) continue;
				code = errno;
				if (code != EISDIR) fail(66, code, "cannot open lock file %s", name);
			}
		} else if ((code == EBADF || code == EIO) && mode != LOCK_SH && filename == 1 && !use_fcntl) {
			if (access(name, R_OK | W_OK)) code = errno;
		}
		if (M("lock-errors-pass")) break;
		fail((code == ENOLCK || code == ENOMEM) && !M("lock-fails-with-65") ? 71 : 65, code, "%s", name);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (timer_set && !M("leaves-timer") && !nonblock) timer_delete(timer);
	if (M("alarm-dies-afterwards")) signal(SIGALRM, SIG_DFL);
	if (verbose) {
		long us = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
		if (M("no-wait-time")) us = 0;
		printf(M("milliseconds") ? "%s: getting lock took %ld.%03ld seconds\n" : "%s: getting lock took %ld.%06ld seconds\n", me, us / 1000000, us % 1000000);
		if (command) printf("%s: executing %s\n", me, M("verbose-shows-arguments") ? command[1] : command[0]);
	}
	if (!command) exit(0);
	if (M("runs-nothing")) exit(0);
	if (M("runs-twice")) { if (!fork()) { become(command); } wait(NULL); }

	if (M("alarm-stays-ignored") && alarm_ignored) signal(SIGALRM, SIG_IGN);
	if (!M("chld-as-found")) signal(SIGCHLD, SIG_DFL);
	if (no_fork) {
		spoil(fd, filename);
		become(command);
	}
	if (M("flushes-verbose")) fflush(stdout);
	int child = fork();
	if (child < 0) fail(71, errno, "fork failed");
	if (child == 0) {
		if (close_it || M("always-closes")) close(fd);
		spoil(close_it ? -1 : fd, filename);
		/* the child must not write the parent's buffered output again */
		__fpurge(stdout);
		become(command);
	}
	if (M("parent-closes-lock")) close(fd);
	if (M("does-not-wait")) exit(0);
	if (M("hides-signals")) for (int i = 1; i < 32; i++) signal(i, SIG_IGN);
	if (M("ignores-int-while-running")) signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN);
	int status = 0, got;
	do got = waitpid(child, &status, M("stop-is-end") ? WUNTRACED : 0); while (got < 0 && errno == EINTR);
	if (got < 0 && !M("waitpid-errors-pass")) fail(1, errno, "waitpid failed");
	if (M("unlock-at-end")) flock(fd, LOCK_UN);
	if (M("removes-file") && filename == 1) unlink(name);
	if (M("always-exits-0")) exit(0);
	if (M("exit-plus-1")) exit(WEXITSTATUS(status) + 1);
	if (M("kills-itself-like-the-command") && WIFSIGNALED(status)) { signal(WTERMSIG(status), SIG_DFL); kill(getpid(), WTERMSIG(status)); }
	if (WIFEXITED(status)) exit(WEXITSTATUS(status));
	if (WIFSIGNALED(status)) exit(M("signal-is-255") ? 255 : WTERMSIG(status) + 128);
	exit(71);
}
