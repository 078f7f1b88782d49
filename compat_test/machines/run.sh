#!/bin/bash
# run.sh [-t SECONDS] [DIR [CHECK...]]: boots a server and two clients, and checks locks between them on NFS 4.2, NFS 3
# and SMB. It prints a table and exits with 1 if something is not as it must be. DIR (build/machines) keeps the image of
# the machines and what they say while they run. -t is how long each torture lasts. CHECK is the name of a row; without
# one all are run.
#
# The machines are Linux as an ordinary process (User-Mode Linux): they need no virtualization, boot in some seconds where
# nothing else runs, and come with their kernel in one package of Debian.
#
# DEBIAN_MIRROR is where debootstrap gets the packages, if not from its own default.
#
# It needs root. Everything runs in namespaces of its own for network, processes and mounts, which end with this script;
# DIR may be removed then.
set -eu
seconds=20
[ "${1-}" != -t ] || { seconds=$2; shift 2; }
dir=${1:-build/machines}
[ $# = 0 ] || shift

here=$(dirname "$0")
missing=
for program in debootstrap mke2fs ip ssh unshare go; do
	command -v $program >/dev/null || missing="$missing $program"
done
[ -z "$missing" ] || { echo "test-machines: missing:$missing" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo 'test-machines: only root can make the machines and their network' >&2; exit 1; }
[ -c /dev/net/tun ] || { echo 'test-machines: no /dev/net/tun: the machines would have no network' >&2; exit 1; }

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ -x flock ] || make flock
exec 9>>"$dir/lock"
./flock -n 9 || { echo "test-machines: somebody else uses $dir" >&2; exit 1; }

# The image is the root filesystem of all machines. A program of Debian must find its own C library: so linux.uml runs
# in DIR as its root directory.
build() {
	tree=$dir/tree
	rm -rf "$tree"
	unshare --mount debootstrap --variant=minbase --include=user-mode-linux,nfs-kernel-server,nfs-common,samba,cifs-utils,openssh-server,\
iproute2,kmod,procps trixie "$tree" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$dir/debootstrap.log" || {
		tail -n 5 "$dir/debootstrap.log" >&2
		return 1
	}
	mkdir -p "$dir/lib64" "$dir/lib/x86_64-linux-gnu" "$dir/dev" "$dir/proc"
	cp "$tree/usr/bin/linux.uml" "$dir"
	cp "$tree/lib64/ld-linux-x86-64.so.2" "$dir/lib64"
	cp "$tree/lib/x86_64-linux-gnu/libc.so.6" "$dir/lib/x86_64-linux-gnu"
	mkdir -p "$tree/lib/modules"
	mv "$tree"/usr/lib/uml/modules/* "$tree/lib/modules"
	chroot "$tree" depmod "$(ls "$tree/lib/modules")"
	rm -rf "$tree/var/cache/apt" "$tree/var/lib/apt/lists" "$tree/usr/bin/linux.uml" "$tree/usr/share/doc" "$tree/usr/share/locale"
	truncate -s 1G "$dir/root.new"
	mke2fs -q -t ext4 -O ^has_journal -d "$tree" "$dir/root.new"
	rm -rf "$tree"
	mv "$dir/root.new" "$dir/root.img"
}
[ -e "$dir/root.img" ] || build
if grep -qw amx_tile /proc/cpuinfo; then
	cc -shared -fPIC -O -o "$dir/xsave.so" "$here/uml/xsave.c"
	mkdir -p "$dir/etc"
	echo /xsave.so >"$dir/etc/ld.so.preload"
fi

CGO_ENABLED=0 go build -o "$dir/machines" ./compat_test/machines
tar -cf "$dir/files.tar" -C "$PWD" flock -C "$(cd "$here" && pwd)" init.sh torture.sh

exec unshare --net --mount --pid --fork --kill-child --mount-proc sh -euc '
	cd "$1"
	mount --rbind /dev dev
	mount --rbind /proc proc
	ip link set lo up
	ip link add switch type bridge
	ip addr add 10.9.0.254/24 dev switch
	ip link set switch up
	for machine in server c1 c2; do
		ip tuntap add dev $machine mode tap
		ip link set $machine master switch up
	done
	shift
	exec ./machines "$@"
' machines "$dir" "$seconds" "$@"
