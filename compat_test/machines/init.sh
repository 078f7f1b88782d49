#!/bin/bash
# Process 1 of a test machine. The kernel's command line has host=NAME, which is also the last part of the address, as in
# /etc/hosts below. The root filesystem can be written, and what is written there is gone when the machine ends. What is
# on the second disk stays. SIGTERM shuts the machine down.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/pts /dev/shm /run/sshd /run/lock /run/rpcbind /run/samba /run/rpc_pipefs /srv/disk
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount /dev/ubdc /srv/disk
[ -d /srv/disk/nfs ] || cp -a /var/lib/nfs /srv/disk # who must hear of a restart
mount --bind /srv/disk/nfs /var/lib/nfs
modprobe sunrpc
mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
printf '%s\n' '127.0.0.1 localhost' '10.9.0.1 server' '10.9.0.2 c1' '10.9.0.3 c2' >/etc/hosts
hostname "${host:?}"
address=$(sed -n "s/ $host\$//p" /etc/hosts)
printf '%032x\n' $((0x1234000 + ${address##*.})) >/etc/machine-id # the same after a restart
ip link set lo up
ip link set vec0 up
ip addr add "$address/24" dev vec0
install /run/machine/flock /usr/local/bin/flock
ln -s /usr/bin/flock /usr/local/bin/reference
passwd -qd root
/usr/sbin/sshd -o PermitRootLogin=yes -o PermitEmptyPasswords=yes -o UsePAM=no -o UseDNS=no -o MaxSessions=100 \
	-o MaxStartups=100

serve() {
	modprobe nfsd
	mount -t nfsd nfsd /proc/fs/nfsd
	mkdir -p /srv/disk/share
	echo '/srv/disk/share *(rw,no_root_squash,no_subtree_check)' >/etc/exports
	# Clients that were there before a restart may claim their locks again during this time.
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo 10 >/proc/sys/fs/nfs/nlm_grace_period
	rpcbind
	rpc.statd
	mkdir -p /var/lib/nfs/nfsdcld
	nfsdcld
	exportfs -a
	rpc.nfsd 4
	rpc.mountd
	printf '%s\n' '[global]' 'map to guest = Bad User' 'disable netbios = yes' 'load printers = no' \
		'[share]' 'path = /srv/disk/share' 'writable = yes' 'guest ok = yes' 'force user = root' >/etc/samba/smb.conf
	printf 'pw\npw\n' | smbpasswd -s -a root
	smbd
}

visit() {
	modprobe -a nfsv3 nfsv4 cifs
	rpcbind
	rpc.statd
	mkdir /nfs4 /nfs3 /smb
	until mount -t nfs -o vers=4.2,soft,timeo=50 server:/srv/disk/share /nfs4; do sleep 1; done
	umount /nfs4
	mount -t nfs -o vers=4.2 server:/srv/disk/share /nfs4
	mount -t nfs -o vers=3 server:/srv/disk/share /nfs3
	until mount -t cifs -o vers=3.1.1,user=root,pass=pw //server/share /smb; do sleep 1; done
}

case $host in
server) serve ;;
*) visit ;;
esac
: >/run/machine/ready
echo "machine $host is ready after $(cut -d ' ' -f 1 /proc/uptime) s"
trap 'halted=1' TERM
while [ -z "$halted" ]; do
	sleep 1 & # collect orphans
	wait
done
trap '' TERM
kill -TERM -1
sleep 1
kill -KILL -1
timeout -s KILL 20 umount -a -t nfs,nfs4,cifs
timeout -s KILL 20 umount -a -t ext4
echo "machine $host is down"
while :; do
	wait
	sleep 1
done
