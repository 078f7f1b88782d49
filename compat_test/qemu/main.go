//go:build linux

// Command qemu runs a command. Programs of another architecture that the command starts run under qemu-user. Usage:
//
//	qemu GOARCH QEMU COMMAND [ARGUMENT]...
//
// QEMU is the path of a static qemu. The command registers it with binfmt_misc, in
// a new user namespace (which needs Linux 6.7), so nothing outside of it changes.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// elf lists the fields of the file header: class (32 or 64 bits), byte order (little or big), type (a program),
// machine.
var elf = map[string]struct {
	class, order byte
	program      [2]byte
	machine      [2]byte
}{
	"386":      {1, 1, [2]byte{2, 0}, [2]byte{0x03, 0}},
	"arm":      {1, 1, [2]byte{2, 0}, [2]byte{0x28, 0}},
	"arm64":    {2, 1, [2]byte{2, 0}, [2]byte{0xb7, 0}},
	"loong64":  {2, 1, [2]byte{2, 0}, [2]byte{0x02, 1}},
	"mips64le": {2, 1, [2]byte{2, 0}, [2]byte{0x08, 0}},
	"ppc64le":  {2, 1, [2]byte{2, 0}, [2]byte{0x15, 0}},
	"riscv64":  {2, 1, [2]byte{2, 0}, [2]byte{0xf3, 0}},
	"s390x":    {2, 2, [2]byte{0, 2}, [2]byte{0, 0x16}},
}

func main() {
	if len(os.Args) < 4 {
		fail("usage: qemu GOARCH QEMU COMMAND [ARGUMENT]...")
	}
	if os.Getenv("FLOCK_TEST_QEMU") != os.Args[1] {
		os.Exit(runInNamespace())
	}
	const dir = "/proc/sys/fs/binfmt_misc"
	if err := syscall.Mount("none", dir, "binfmt_misc", 0, ""); err != nil {
		fail("cannot mount binfmt_misc in a user namespace (it takes Linux 6.7): ", err)
	}
	if err := os.WriteFile(dir+"/register", []byte(rule(os.Args[1], os.Args[2])), 0); err != nil {
		fail(err)
	}
	path, err := exec.LookPath(os.Args[3])
	if err == nil {
		err = syscall.Exec(path, os.Args[3:], os.Environ())
	}
	fail(os.Args[3], ": ", err)
}

// rule returns the line to register with binfmt_misc. The flag F makes the kernel
// open the interpreter now, P makes it pass argv[0].
func rule(arch, qemu string) string {
	header, known := elf[arch]
	if !known {
		fail("unknown architecture: ", arch)
	}
	magic := append([]byte("\x7fELF"), header.class, header.order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	magic = append(append(magic, header.program[:]...), header.machine[:]...)
	mask := []byte("\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	escape := func(bytes []byte) string {
		var b strings.Builder
		for _, c := range bytes {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return b.String()
	}
	return ":qemu-" + arch + ":M::" + escape(magic) + ":" + escape(mask) + ":" + qemu + ":FP"
}

// runInNamespace runs this program again in a new user and mount namespace. If root runs it, all user ids stay as they
// are; otherwise there is only the one user, as root.
func runInNamespace() int {
	uids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1 << 16}}
	gids := uids
	root := os.Geteuid() == 0
	if !root {
		uids = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		gids = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), "FLOCK_TEST_QEMU="+os.Args[1])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings:                uids,
		GidMappings:                gids,
		GidMappingsEnableSetgroups: root,
		Pdeathsig:                  syscall.SIGKILL,
	}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fail("cannot make a user namespace: ", err)
	}
	return cmd.ProcessState.ExitCode()
}

func fail(words ...any) {
	fmt.Fprintln(os.Stderr, "qemu:", fmt.Sprint(words...))
	os.Exit(1)
}
