#!/bin/sh
# run.sh [GOARCH...]: runs the tests under qemu-user: a core of them on arm64 and 386, a short choice on every other
# Linux architecture that both Go and qemu-user support. If the kernel can run programs for 386, it does: under qemu-i386
# (7.2) a Go program may crash when it gets a signal during a system call.
# FLOCK_TEST_QEMU_LIMIT is the time limit for the cases of one architecture, by default 8m; on an idle machine they take
# one or two minutes. What has not ended by then fails.
set -eu
limit=${FLOCK_TEST_QEMU_LIMIT:-8m}
[ $# -gt 0 ] || set -- arm64 386 arm riscv64 ppc64le s390x mips64le loong64

# Together these cases make every kind of call: locks, waiting, timers, signals, exec, and what the command inherits.
short='exclusive-.*|shared-admits-shared|waits-.*|w-[ig].*|w-leaves.*|convert-.*|u-then-.*|n-on-.*|status-.*|not-found.*'
short="$short|lowest-.*|mode-.*|symlink-.*|name-not-utf8|killed-.*|dies-waiting-of-(TERM|ALRM|INT)|self-lock-.*|.*-fork"
core="$short|[cdfpu].*"

mkdir -p build
go build -o build/qemu ./compat_test/qemu
status=0 tried=0
for arch; do
	case $arch in
	386) name=i386 ;;
	arm64) name=aarch64 ;;
	mips64le) name=mips64el ;;
	loong64) name=loongarch64 ;;
	*) name=$arch ;;
	esac
	# Debian's packages are qemu-user-static and qemu-user
	qemu=$(command -v qemu-$name-static || command -v qemu-$name || :)
	if [ -z "$qemu" ]; then
		echo "== linux/$arch: not run: no qemu-$name-static and no qemu-$name"
		continue
	fi
	flock=$PWD/build/linux_$arch/flock
	entry=
	[ $arch != arm64 ] || entry='-E flock_entry'
	GOARCH=$arch CGO_ENABLED=0 go build -trimpath -tags flock_linkname -ldflags "-s -w -checklinkname=0 $entry" -o "$flock" .
	under="$PWD/build/qemu $arch $qemu" by="$("$qemu" --version | head -n 1)"
	cases=$short skip='^$' unit=./fallback/...
	case $arch in
	386 | arm64) cases=$core unit='. ./fallback/...' ;;
	mips64le) # SIGUSR1 is 16 there and O_NONBLOCK 0200, but qemu's /proc shows the flags of open files as the host has them
		skip='/exec/^status-(killed-is-an-exit-otherwise|of-a-killed-command)$' unit=./fallback
		echo "== linux/$arch: not run: the tests of fallback/openfile, which need the flags that /proc shows" ;;
	esac
	if "$flock" --version >/dev/null 2>&1; then
		under='' by='the kernel'
		[ $arch != 386 ] || skip='/failures/open-call-arguments' # with O_LARGEFILE, as of all 32-bit programs
	fi
	echo "== linux/$arch, run by $by"
	tried=$((tried + 1))
	# with go test -exec only the tests run under qemu, not the compiler
	GOARCH=$arch CGO_ENABLED=0 go test -count=1 -short -timeout "$limit" -exec "$under" \
		-skip 'TestEveryInterleaving|TestTorture' $unit || status=1
	# go test prints the table of the modes only for the package in the current directory
	(cd compat_test && FLOCK_UNDER_TEST=$flock $under go test -count=1 -timeout "$limit" \
		-run "^(TestEarly|TestNative|TestDirectory)\$/./^($cases)\$" -skip "$skip") >build/qemu.log 2>&1 || status=1
	sed -n '/^mode /,/^$/p; /: different (/,/^ *$/p; /^ok/p; /^panic/p; /^ *--- FAIL/p; /^FAIL/p' build/qemu.log
done
if [ $tried = 0 ]; then
	echo "test-qemu: no qemu-user (in Debian's package qemu-user-static)" >&2
	exit 1
fi
exit $status
