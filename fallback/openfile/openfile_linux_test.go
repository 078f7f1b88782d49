package openfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// openNew makes a file and returns a descriptor of it, with its table.
func openNew(t *testing.T) (fd int, table *Table) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	must(err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd, &Table{Path: path, Opened: fd, FD: fd}
}

// duplicate returns another descriptor of an open file.
func duplicate(t *testing.T, fd int) int {
	t.Helper()
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	must(err)
	t.Cleanup(func() { unix.Close(other) })
	return other
}

// closed is a number that no descriptor has.
const closed = 1 << 19

func here(number int) Location {
	return Location{PID: os.Getpid(), Start: proc.Start(os.Getpid()), Number: number}
}

func flag(fd, command int) int {
	value, err := unix.FcntlInt(uintptr(fd), command, 0)
	must(err)
	return value
}

// isChild reports whether this is the process that asChild has started for this test.
func isChild() bool { return os.Getenv("FALLBACK_ROLE") == "child" }

// asChild runs this test once more in a process of its own. A command among under runs it.
func asChild(t *testing.T, attributes *syscall.SysProcAttr, env []string, under ...string) {
	t.Helper()
	words := append(under, "/proc/self/exe", "-test.count=1", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	if len(under) > 0 {
		self, err := os.Executable()
		must(err)
		words[len(under)] = self
	}
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(append(os.Environ(), "FALLBACK_ROLE=child"), env...)
	c.SysProcAttr = attributes
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// asNobody are the attributes of a process that may not look into ours.
func asNobody(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	if os.Getenv("FLOCK_TEST_QEMU") != "" {
		t.Skip("qemu-user executes /proc/self/exe by its path, in a directory of root's")
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func TestMark(t *testing.T) {
	for _, m := range Marks {
		fd, table := openNew(t)
		id := table.ID()
		like := &File{FileID: id, Mark: m, Signal: 34}
		if table.Marked(like) {
			t.Error("marked at first")
		}
		must(table.Mark(34, m))
		if flag(fd, unix.F_GETSIG) != 34 || flag(fd, unix.F_GETFL)&m.flag() == 0 || flag(fd, unix.F_GETFL)&unix.O_RDWR == 0 {
			t.Error("not marked")
		}
		if !table.Marked(like) {
			t.Error("the mark is not seen")
		}
		for _, other := range []*File{
			{FileID: id, Mark: m, Signal: 35},
			{FileID: FileID{id.Device + 1, id.Inode}, Mark: m, Signal: 34},
			{FileID: FileID{id.Device, id.Inode + 1}, Mark: m, Signal: 34},
			{FileID: id, Mark: Marks[0] + Marks[1] - m, Signal: 34},
		} {
			if table.Marked(other) {
				t.Errorf("taken for %v", other)
			}
		}
		table.Unmark()
		if flag(fd, unix.F_GETSIG) != 0 || flag(fd, unix.F_GETFL)&(unix.O_NOATIME|unix.O_NONBLOCK) != 0 {
			t.Error("still marked")
		}
	}
	// What has no signal was not marked by us.
	fd, table := openNew(t)
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK)
	must(err)
	table.Unmark()
	if flag(fd, unix.F_GETFL)&unix.O_NONBLOCK == 0 {
		t.Error("a flag of somebody else is gone")
	}
	if none := (&Table{FD: closed}); none.Mark(34, NoAtime) != unix.EBADF || none.Marked(&File{Mark: NoAtime}) {
		t.Error("what is not open can be marked")
	}
	if fmt.Sprint(Marks) != "[O_NOATIME O_NONBLOCK]" {
		t.Error(Marks)
	}
}

// TestMarkOfAnothers: only the owner of a file may give it the first mark.
func TestMarkOfAnothers(t *testing.T) {
	if isChild() {
		fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY, 0)
		must(err)
		table := &Table{FD: fd}
		if table.Mark(34, NoAtime) != unix.EPERM || table.Mark(34, NonBlock) != nil {
			t.Error("it is ours")
		}
		return
	}
	asChild(t, asNobody(t), nil)
}

func TestID(t *testing.T) {
	fd, _ := openNew(t)
	_, other := openNew(t)
	want, _, err := statID(fd, "")
	must(err)
	for _, c := range []struct {
		table Table
		want  FileID
	}{
		{Table{Path: other.Path, Opened: fd}, want},
		{Table{Path: other.Path, Opened: -1}, other.ID()},
		{Table{Opened: -1}, FileID{}},
	} {
		if got := c.table.ID(); got != c.want {
			t.Errorf("%+v: %v", c.table, got)
		}
	}
	if want == other.ID() || want == (FileID{}) {
		t.Error(want)
	}
	input, _, err := statID(0, "")
	must(err)
	if (&Table{Path: other.Path}).ID() != input {
		t.Error("descriptor 0 does not count")
	}
}

// TestCheck: only regular files and directories have directory locks by number.
func TestCheck(t *testing.T) {
	fd, table := openNew(t)
	dir, err := unix.Open(filepath.Dir(table.Path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(err)
	defer unix.Close(dir)
	var pipe [2]int
	must(unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if Check(fd) != nil || Check(dir) != nil {
		t.Error("they have none")
	}
	if err := Check(pipe[0]); err == nil || Check(closed) != unix.EBADF {
		t.Error("a pipe, or nothing, has one")
	}
}

// TestAt asks about descriptors of this process, and of one that has ended.
func TestAt(t *testing.T) {
	fd, table := openNew(t)
	unmarked, _ := openNew(t)
	must(table.Mark(34, NoAtime))
	ended := startEnded(t)
	gone := exec.Command("true")
	must(gone.Run())
	for what, c := range map[string]struct {
		at   Location
		id   FileID
		want Answer
	}{
		"there":                {here(fd), table.ID(), There},
		"another file":         {here(fd), FileID{1, 1}, NotThere},
		"another mark":         {here(unmarked), (&Table{Opened: unmarked}).ID(), NotThere},
		"not open":             {here(closed), table.ID(), NotThere},
		"a process that ended": {Location{PID: ended, Number: fd}, table.ID(), NotThere},
		"no process":           {Location{PID: gone.Process.Pid, Number: fd}, table.ID(), NotThere},
	} {
		if got := table.At(&File{Location: c.at, FileID: c.id, Mark: NoAtime}, true); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	must(table.Mark(34, NonBlock)) // a file of ours has both now
	if is, err := isMarked(here(fd), table.ID(), &File{Mark: NoAtime}, &File{FileID: table.ID(), Mark: NonBlock}); !is || err != nil {
		t.Error("of two that are wanted the second is not found: ", err)
	}
	if is, err := isMarked(here(closed), table.ID(), &File{FileID: table.ID(), Mark: NonBlock}); is || !isNowhere(err) {
		t.Error("what is not open is marked: ", err)
	}
}

// TestAtUnseen asks about a process that may not be looked into: only when it was started can tell something.
func TestAtUnseen(t *testing.T) {
	if !isChild() {
		ended := startEnded(t)
		asChild(t, asNobody(t), []string{fmt.Sprint("ENDED=", ended)})
		return
	}
	parent := os.Getppid()
	var ended int
	fmt.Sscan(os.Getenv("ENDED"), &ended)
	start := proc.Start(parent)
	table := new(Table)
	for _, c := range []struct {
		of          Location
		sharesClock bool
		want        Answer
	}{
		{Location{PID: parent, Start: start}, true, Unknown},
		{Location{PID: parent, Start: start + 1}, true, NotThere},
		{Location{PID: parent, Start: start + 1}, false, Unknown},
		{Location{PID: parent}, true, Unknown},
		{Location{PID: ended}, true, NotThere},
	} {
		if got := table.At(&File{Location: c.of, Mark: NoAtime}, c.sharesClock); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestHidden has a /proc with hidepid: what it does not show may be there.
func TestHidden(t *testing.T) {
	if os.Getenv("HIDEPID") == "" {
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), "hidepid=") {
			t.Skip("/proc hides processes")
		}
		if (&Table{}).HidesProcesses() {
			t.Error("/proc hides processes")
		}
		asNobody(t)
		if out, err := exec.Command("unshare", "-m", "mount", "-t", "proc", "proc", "/proc").CombinedOutput(); err != nil {
			t.Skipf("/proc cannot be mounted: %s", out)
		}
		for _, option := range []string{"hidepid=2", "hidepid=0", "gid=0"} {
			asChild(t, nil, []string{"HIDEPID=" + option, "FALLBACK_ROLE="},
				"unshare", "-m", "sh", "-c", `mount -t proc -o $HIDEPID proc /proc && mount -t tmpfs none /mnt && "$0" "$@"`)
		}
		return
	}
	hides := os.Getenv("HIDEPID") == "hidepid=2"
	if !isChild() {
		asChild(t, asNobody(t), nil)
		return
	}
	if (&Table{}).HidesProcesses() != hides || isHidden(os.Getppid()) != hides || isHidden(os.Getpid()) || isHidden(1<<22) {
		t.Error("it hides, or does not hide, processes")
	}
	if got := new(Table).At(&File{Location: Location{PID: os.Getppid()}, Mark: NoAtime}, true); got != Unknown {
		t.Error("the descriptor of a process that is not shown, or may not be looked at: ", got)
	}
}

// TestLocate: the eldest process that has our open file, and all between it and this one.
func TestLocate(t *testing.T) {
	if isChild() {
		at, err := (&Table{Opened: 3, FD: 3}).Locate()
		fmt.Println(at.PID, at.Start, at.Number, err)
		os.Exit(0)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	must(err)
	defer file.Close()
	self, err := os.Executable()
	must(err)
	own := fmt.Sprintf("%d %d %d", os.Getpid(), proc.Start(os.Getpid()), file.Fd())
	for script, want := range map[string]string{
		`exec "$0" "$1"`:  own,
		`"$0" "$1"; exit`: own, // the shell has it, too
		`exec 4<&3 3<&-; (exec "$0" "$1" 3<&4); exit`: own,
		`exec 3<"$0"; "$0" "$1"; exit`:                "the shell 3",
		`exec 4<"$0"; (exec "$0" "$1" 3<&4); exit`:    "the shell 4",
		`(exec "$0" "$1" 3<"$0"); exit`:               "another process 3",
	} {
		c := exec.Command("sh", "-c", script, self, "-test.run=^TestLocate$")
		c.Env = append(os.Environ(), "FALLBACK_ROLE=child")
		c.ExtraFiles = []*os.File{file}
		out, err := c.Output()
		must(err)
		var at Location
		fmt.Sscanf(string(out), "%d %d %d", &at.PID, &at.Start, &at.Number)
		got := fmt.Sprint("another process ", at.Number)
		switch at.PID {
		case c.Process.Pid:
			got = fmt.Sprint("the shell ", at.Number)
		case os.Getpid():
			got = fmt.Sprintf("%d %d %d", at.PID, at.Start, at.Number)
		}
		if got != want || at.Start == 0 {
			t.Errorf("%s: %s, not %s", script, out, want)
		}
	}
}

// TestLocateUnseen: a parent that may not be looked into has the file, unless it has adopted this process.
func TestLocateUnseen(t *testing.T) {
	if isChild() {
		fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(err)
		at, err := (&Table{Opened: fd, FD: fd}).Locate()
		must(err)
		want := os.Getppid()
		if os.Getenv("ADOPTED") != "" {
			want = os.Getpid()
		}
		if at != (Location{PID: want, Start: proc.Start(want), Number: fd}) {
			t.Errorf("%+v", at)
		}
		return
	}
	asChild(t, asNobody(t), nil)
	adopted := asNobody(t)
	adopted.Setsid = true
	asChild(t, adopted, []string{"ADOPTED=1"})
}

// TestLocateOutside: where the parent is in another pid namespace, nothing tells who it is.
func TestLocateOutside(t *testing.T) {
	if isChild() {
		fd, _ := openNew(t)
		if at, err := (&Table{Opened: fd, FD: fd}).Locate(); err == nil {
			t.Errorf("%+v", at)
		}
		return
	}
	asNobody(t)
	for _, mount := range []string{"true", "mount -t proc proc /proc"} {
		asChild(t, nil, nil, "unshare", "-mpf", "sh", "-c", mount+` && exec "$0" "$@"`)
	}
}

// TestProcess1IsNoCaller: it adopts, also in a pid namespace where it is of our session.
func TestProcess1IsNoCaller(t *testing.T) {
	if isChild() {
		if its, err := unix.Getsid(1); os.Getppid() != 1 || err != nil || isCaller(1) {
			t.Errorf("the parent is %d, of session %d, %v", os.Getppid(), its, err)
		}
		return
	}
	asNobody(t)
	asChild(t, nil, nil, "unshare", "-pf", "sh", "-c", `"$0" "$@"; exit $?`)
}

// forbidKcmp forbids kcmp(2) in the thread of a test, which must end with it.
func forbidKcmp(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const (
		loadNumber = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // the number is the first field of struct seccomp_data
		isEqual    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		refuse     = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	filter := []unix.SockFilter{{Code: loadNumber}, {Code: isEqual, Jf: 1, K: unix.SYS_KCMP},
		{Code: unix.BPF_RET, K: refuse}, {Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW}}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err != nil {
		t.Skip("no system call can be forbidden: ", err)
	}
}

// TestWithoutKcmp: then an open file of the same file counts as ours, and a search is not certain of what it finds.
func TestWithoutKcmp(t *testing.T) {
	file, marked := markedFile(t)
	fd := int(file.Fd())
	other, err := os.Open(file.Name())
	must(err)
	defer other.Close()
	another, _ := openNew(t)
	t.Run("", func(t *testing.T) {
		forbidKcmp(t)
		if _, known := sameOpenFile(here(fd), here(fd)); known {
			t.Fatal("kcmp(2) is not forbidden")
		}
		for number, want := range map[int]bool{fd: true, int(other.Fd()): true, another: false, closed: false} {
			if got := (&Table{FD: fd, Opened: fd}).isOurs(here(number)); got != want {
				t.Errorf("%d is ours: %v", number, got)
			}
		}
		h := newSearch(Query{Wanted: []*File{marked}})
		h.locations = []Location{here(another)}
		if !h.lookOnce(os.Getpid()) || !h.Found || h.Certain || h.At.Number != fd {
			t.Errorf("%+v", h.View)
		}
		if !isAt(here(fd), here(fd)) || isAt(here(fd), here(int(other.Fd()))) || isAt(here(fd), Location{PID: 1, Number: fd}) {
			t.Error("only the same descriptor is the same open file")
		}
	})
}

func hasKcmp() bool {
	const kcmpFile = 0
	_, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), kcmpFile, 0, 0, 0)
	return errno == 0
}

// TestSameOpenFile: the kernel also knows that there is no such process or descriptor.
func TestSameOpenFile(t *testing.T) {
	if !hasKcmp() {
		t.Skip("no kcmp(2)")
	}
	fd, _ := openNew(t)
	other, _ := openNew(t)
	for _, c := range []struct {
		at   Location
		same bool
	}{
		{here(fd), true},
		{here(duplicate(t, fd)), true},
		{here(other), false},
		{here(closed), false},
		{Location{PID: 1 << 22, Number: fd}, false},
	} {
		if same, known := sameOpenFile(here(fd), c.at); same != c.same || !known {
			t.Errorf("%v: %v, %v", c.at, same, known)
		}
	}
}
