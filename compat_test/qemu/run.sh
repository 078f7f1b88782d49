#!/bin/sh
# Runs all tests on linux/arm64 and linux/386, under qemu-user. Programs for 386
# are run by the kernel where it can: under qemu-i386 (7.2) any Go program that
# is sent a signal while in a system call may crash.
set -eu
qemu_arm64=qemu-aarch64-static
qemu_386=qemu-i386-static
missing=
for program in $qemu_arm64 $qemu_386; do
	command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
	echo "test-qemu: missing:$missing (in Debian's package qemu-user-static)" >&2
	exit 1
fi

mkdir -p build
go build -o build/qemu ./compat_test/qemu
status=0
for arch in arm64 386; do
	eval qemu="\$(command -v \$qemu_$arch)"
	echo "== linux/$arch: $("$qemu" --version | head -n 1)"
	entry=
	[ $arch != arm64 ] || entry='-E flock_entry'
	GOARCH=$arch CGO_ENABLED=0 go build -trimpath -tags flock_linkname -ldflags "-s -w -checklinkname=0 $entry" \
		-o build/linux_$arch/flock .
	under="build/qemu $arch $qemu"
	skip='^$'
	if [ $arch = 386 ] && build/linux_386/flock --version >/dev/null 2>&1; then
		echo "== run by the kernel"
		under=
		skip='/cases/open-call-arguments' # with O_LARGEFILE, as of all 32-bit programs
	fi
	GOARCH=$arch CGO_ENABLED=0 $under go test -count=1 . ./fallback || status=1
	FLOCK_UNDER_TEST=$PWD/build/linux_$arch/flock $under \
		go test -count=1 -timeout 20m ./compat_test \
		-run 'TestNative|TestDirectory|TestAbsent' -skip "$skip" || status=1
done
exit $status
