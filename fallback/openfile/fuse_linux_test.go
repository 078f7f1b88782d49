package openfile

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFileOfAnothersFUSE has a process keep a directory of its user's FUSE filesystem open. That tells nobody else, not
// even root, more than its device, which is no reason to take the process for one that may not be looked into.
func TestFileOfAnothersFUSE(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	server, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("/dev/fuse: %v", err)
	}
	defer unix.Close(server)
	dir, other := t.TempDir(), 12345
	must(os.Chmod(dir, 0o755))
	must(os.Chmod(dir+"/..", 0o755))
	options := fmt.Sprintf("fd=%d,rootmode=40755,user_id=%d,group_id=%d", server, other, other)
	if err := unix.Mount("test", dir, "fuse", 0, options); err != nil {
		t.Skipf("no FUSE filesystem can be mounted: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	go serveEmptyFUSE(server)

	c := exec.Command("sh", "-c", `exec 7<"$0" && echo open && read line`, dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(other), Gid: uint32(other)}}
	in, err := c.StdinPipe()
	must(err)
	out, err := c.StdoutPipe()
	must(err)
	c.Stderr = os.Stderr
	must(c.Start())
	defer c.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, len("open\n"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := statID(unix.AT_FDCWD, descriptorPath(Location{PID: c.Process.Pid, Number: 7})); err != unix.EACCES {
		t.Skipf("root may look at the file: %v", err)
	}
	var of unix.Statx_t
	must(unix.Statx(unix.AT_FDCWD, descriptorPath(Location{PID: c.Process.Pid, Number: 7}), unix.AT_STATX_DONT_SYNC, 0, &of))
	device := unix.Mkdev(of.Dev_major, of.Dev_minor)
	for wanted, refused := range map[uint64]int{device + 1: 0, device: 1} {
		h := newSearch(Query{TellRefused: true, Wanted: []*File{{FileID: FileID{wanted, 1}}}})
		if h.lookOnce(c.Process.Pid) != (refused == 0) || len(h.Refused) != refused || h.failed {
			t.Errorf("a file of device %d is wanted, it is of %d: %+v", wanted, device, h.View)
		}
	}
}

// serveEmptyFUSE answers as a filesystem that has a root directory and nothing else: fuse(4), and
// include/uapi/linux/fuse.h.
func serveEmptyFUSE(server int) {
	const (
		getattr, opendir, initialize = 3, 27, 26
		headerSize                   = 16
	)
	type byteOrder interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	order := byteOrder(binary.LittleEndian)
	for request := make([]byte, 1<<17); ; {
		n, err := unix.Read(server, request)
		if err != nil || n < 40 {
			return
		}
		// Under qemu-user the kernel can have another byte order. Its first request is INIT.
		if binary.BigEndian.Uint32(request[4:]) == initialize {
			order = binary.BigEndian
		}
		answer, errno := []byte(nil), syscall.Errno(0)
		switch order.Uint32(request[4:]) {
		case initialize:
			answer = make([]byte, 64)
			order.PutUint32(answer, 7) // the version
			order.PutUint32(answer[4:], 31)
			order.PutUint32(answer[20:], 4096)
		case opendir:
			answer = make([]byte, 16)
		case getattr:
			answer = make([]byte, 104)
			order.PutUint32(answer[76:], unix.S_IFDIR|0o755)
		default:
			errno = unix.ENOSYS
		}
		reply := order.AppendUint32(nil, uint32(headerSize+len(answer)))
		reply = order.AppendUint32(reply, uint32(-int32(errno)))
		reply = append(append(reply, request[8:16]...), answer...)
		unix.Write(server, reply)
	}
}
