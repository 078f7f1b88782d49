package openfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/flock/internal/proc"
)

// markedFile makes a file whose open file is marked, and returns it with what is to be searched for.
func markedFile(t *testing.T) (*os.File, *File) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	must(err)
	t.Cleanup(func() { file.Close() })
	table := &Table{Opened: int(file.Fd()), FD: int(file.Fd())}
	must(table.Mark(34, NonBlock))
	return file, &File{FileID: table.ID(), Mark: NonBlock, Location: here(int(file.Fd()))}
}

// TestLook looks into a process that has a marked open file, and others.
func TestLook(t *testing.T) {
	file, marked := markedFile(t)
	other, err := os.Open(file.Name())
	must(err)
	defer other.Close()
	another, _ := markedFile(t)
	pid, third := startCat(t, nil, another, other, file), startCat(t, nil, another, other, other)
	there := Location{PID: pid, Start: proc.Start(pid), Number: 5}
	for _, c := range []struct {
		what      string
		accounted []Location
		want      View
		needsKcmp bool
	}{
		{"it has it", nil, View{Found: true, At: there, Certain: true}, false},
		{"with another beside", []Location{here(int(another.Fd()))}, View{Found: true, At: there, Certain: true}, true},
		{"it is accounted for there", []Location{there}, View{Certain: true}, false},
		{"it is ours", []Location{here(int(another.Fd())), here(int(file.Fd()))}, View{Certain: true}, true},
		{"the number of another process", []Location{{PID: third, Number: 5}}, View{Found: true, At: there, Certain: true}, true},
		{"another number", []Location{{PID: pid, Number: 4}}, View{Found: true, At: there, Certain: true}, true},
	} {
		if c.needsKcmp && !hasKcmp() {
			continue
		}
		for how, look := range map[string]func(*search) bool{
			"once":                              func(h *search) bool { return h.lookOnce(pid) },
			"until proven":                      func(h *search) bool { return h.lookUntilProven(pid) },
			"when another thread was the first": func(h *search) bool { return h.lookByOtherThreads(pid) },
			"as a candidate": func(h *search) bool {
				found := h.lookInto(h.newCandidate(pid))
				_, isCleared := h.clearedSince[pid]
				return found == c.want.Found && isCleared == !found
			},
		} {
			h := newSearch(Query{Wanted: []*File{marked}})
			h.locations = c.accounted
			if !look(h) || h.Found != c.want.Found || h.At != c.want.At || h.Certain != c.want.Certain || h.failed {
				t.Errorf("%s, %s: %+v", c.what, how, h.View)
			}
		}
	}
	h := newSearch(Query{Wanted: []*File{marked}})
	if h.lookOnce(1<<22) || h.lookByOtherThreads(1<<22) || h.lookInto(h.newCandidate(1<<22)) || h.failed || len(h.clearedSince) > 0 {
		t.Errorf("there is no such process: %+v", h)
	}
}

// TestSearch searches all processes; what this one has, and what is accounted for, does not count.
func TestSearch(t *testing.T) {
	file, marked := markedFile(t)
	table := &Table{Opened: -1, FD: int(file.Fd())}
	if v := table.Search(Query{Wanted: []*File{marked}, Since: math.MaxUint64}); v.Found || !v.Complete {
		t.Errorf("ours counts: %+v", v)
	}
	table.FD = -1
	if v := table.Search(Query{Wanted: []*File{marked}, Since: math.MaxUint64}); v.At != marked.Location || !v.Complete {
		t.Errorf("not found: %+v", v)
	}
	accounted := []*File{{Location: marked.Location}}
	if v := table.Search(Query{Wanted: []*File{marked}, Accounted: accounted, Since: math.MaxUint64}); v.Found {
		t.Errorf("what is accounted for counts: %+v", v)
	}
	input := duplicate(t, 0)
	must(unix.Dup3(int(file.Fd()), 0, 0))
	defer unix.Dup3(input, 0, 0)
	if v := new(Table).Search(Query{Wanted: []*File{marked}, Since: math.MaxUint64}); v.Found {
		t.Errorf("ours counts, which is descriptor 0: %+v", v)
	}
	defer func() { processes = proc.Processes }()
	processes = func() ([]int, error) { return nil, unix.ENOMEM }
	if v := table.Search(Query{Wanted: []*File{marked}}); v.Complete {
		t.Error("nothing was listed, and it is complete")
	}
}

// TestMayTraceAll: the capability is the one that /proc shows.
func TestMayTraceAll(t *testing.T) {
	text, err := os.ReadFile("/proc/self/status")
	must(err)
	effective, _ := strconv.ParseUint(proc.Field(text, "CapEff"), 16, 64)
	if want := effective&(1<<unix.CAP_SYS_PTRACE) != 0; MayTraceAll() != want {
		t.Errorf("%x, and it may trace: %v", effective, MayTraceAll())
	}
	if !isChild() {
		asChild(t, asNobody(t), nil)
	}
}

// TestOnlyDescriptor: a process may have no other descriptor than that of the file.
func TestOnlyDescriptor(t *testing.T) {
	file, marked := markedFile(t)
	inherited, err := proc.Numbers("/proc/self/fd") // by this process, and then by its child
	must(err)
	for _, fd := range inherited {
		unix.CloseOnExec(fd)
	}
	c := exec.Command("sh", "-c", "exec <&- >&- 2>&-; exec sleep 1000")
	c.ExtraFiles = []*os.File{file}
	must(c.Start())
	defer c.Wait()
	defer c.Process.Kill()
	await(t, func() bool { list, _ := proc.Numbers(procDir(c.Process.Pid) + "/fd"); return len(list) == 1 })
	h := newSearch(Query{Wanted: []*File{marked}})
	if !h.lookByOtherThreads(c.Process.Pid) || !h.Found {
		t.Errorf("%+v", h.View)
	}
}

// freeNumber returns the number that the next descriptor gets.
func freeNumber() int {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(err)
	unix.Close(fd)
	return fd
}

// TestLooksCloseAll: what looks and searches open they close.
func TestLooksCloseAll(t *testing.T) {
	_, marked := markedFile(t)
	free := freeNumber()
	for what, look := range map[string]func(){
		"a look":           func() { newSearch(Query{}).lookOnce(os.Getpid()) },
		"by other threads": func() { newSearch(Query{}).lookByOtherThreads(os.Getpid()) },
		"openers":          func() { Openers([]Sought{SoughtFile(marked, true)}) },
	} {
		look()
		if n := freeNumber(); n != free {
			t.Errorf("%s: %d is still open", what, free)
			free = n
		}
	}
}

// TestLooksThatFail: a look that cannot be made, because there is no free descriptor, is a failure.
func TestLooksThatFail(t *testing.T) {
	var was unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	for what, look := range map[string]func(*search) bool{
		"once":             func(h *search) bool { return h.lookOnce(os.Getpid()) },
		"by other threads": func(h *search) bool { return h.lookByOtherThreads(os.Getpid()) },
	} {
		h := newSearch(Query{TellRefused: true})
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}))
		could, last := look(h), lastID()
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
		if could || last != 0 || !h.failed || len(h.Refused) > 0 || len(h.clearedSince) > 0 {
			t.Errorf("%s: %v, %+v", what, could, h)
		}
	}
}

// TestEndedIsNotCleared: a process that has ended shows no descriptors, and may have left them to others.
func TestEndedIsNotCleared(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may list the descriptors of a process that has ended")
	}
	pid := startEnded(t)
	h := newSearch(Query{})
	if h.lookOnce(pid) || h.lookInto(h.newCandidate(pid)) || len(h.clearedSince) > 0 || h.failed {
		t.Errorf("%+v", h)
	}
}

// TestFirstThreadEnded: the descriptors of a process whose first thread has ended are those of the others. Root sees
// that the first thread has none; others may not look into it.
func TestFirstThreadEnded(t *testing.T) {
	if !isChild() {
		t.Run("as nobody", func(t *testing.T) { asChild(t, asNobody(t), []string{"TMPDIR=/tmp"}) }) // ours may be root's only
	}
	file, marked := markedFile(t)
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "FALLBACK_ROLE=first thread ends")
	c.ExtraFiles = []*os.File{file}
	in, err := c.StdinPipe()
	must(err)
	must(c.Start())
	defer c.Wait()
	defer in.Close()
	pid := c.Process.Pid
	await(t, func() bool { return stateOf(pid) == 'Z' })
	h := newSearch(Query{Wanted: []*File{marked}})
	if !h.lookOnce(pid) || h.At.PID == 0 || h.At.Number != 3 || h.failed || isZombie(pid) {
		t.Errorf("%+v", h.View)
	}
	h = newSearch(Query{})
	if !h.lookOnce(pid) || h.failed {
		t.Errorf("it cannot be looked into: %+v", h.View)
	}
}

// endFirstThread is a process that goes on without its first thread until its input ends.
func endFirstThread() {
	go func() {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

func init() {
	if os.Getenv("FALLBACK_ROLE") == "first thread ends" {
		runtime.LockOSThread()
	}
}

// TestMayMove: which processes can hide an open file from one look.
func TestMayMove(t *testing.T) {
	const since = 100
	at := func(start uint64) proc.Stat { return proc.Stat{Start: start} }
	for what, c := range map[string]struct {
		of   candidate
		want bool
	}{
		"nothing is known":               {candidate{err: unix.EACCES}, true},
		"an heir of one that is cleared": {candidate{stat: at(since), isHeirOfCleared: true}, false},
		"an older one":                   {candidate{stat: at(since - 1)}, false},
		"one of the same age":            {candidate{stat: at(since)}, true},
	} {
		if got := newSearch(Query{Since: since}).mayMove(c.of); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestLookAtOneThatMoves has this process move its descriptor without a pause: one look misses it now and then.
func TestLookAtOneThatMoves(t *testing.T) {
	file, marked := markedFile(t)
	numbers := [2]int{500, 501} // nobody else opens a file there
	must(unix.Dup3(int(file.Fd()), numbers[0], unix.O_CLOEXEC))
	must(file.Close())
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for from, to := numbers[0], numbers[1]; ; from, to = to, from {
			select {
			case <-stop:
				unix.Close(from)
				return
			default:
				unix.Dup3(from, to, unix.O_CLOEXEC)
				unix.Close(from)
				for range rand.N(1000) { // a shell does more between two moves, too
					unix.Getppid()
				}
			}
		}
	}()
	p := candidate{pid: os.Getpid(), stat: proc.Stat{Start: 1}}
	for n := range 300 {
		if h := newSearch(Query{Wanted: []*File{marked}, Since: 1}); !h.lookInto(p) {
			t.Errorf("not found in look %d", n)
			break
		}
	}
	close(stop)
	<-stopped
}

// TestWhoIsAnHeir: process 1 adopts orphans, so that it is the parent proves nothing.
func TestWhoIsAnHeir(t *testing.T) {
	h := newSearch(Query{})
	h.clearedSince = map[int]uint64{1: 50, 7: 50}
	for _, c := range []struct {
		stat proc.Stat
		want bool
	}{
		{proc.Stat{Parent: 7, Start: 51}, true},
		{proc.Stat{Parent: 7, Start: 50}, true},
		{proc.Stat{Parent: 7, Start: 49}, false},
		{proc.Stat{Parent: 8, Start: 51}, false},
		{proc.Stat{Parent: 1, Start: 51}, false},
	} {
		if got := h.isHeirOfCleared(c.stat); got != c.want {
			t.Errorf("%+v: %v", c.stat, got)
		}
	}
	h.clear(7)
	if h.clearedSince[7] != 50 {
		t.Error("it is cleared since it was first")
	}
	h.clearedSince = map[int]uint64{os.Getppid(): 0}
	p := h.newCandidate(os.Getpid())
	if os.Getppid() != 1 && (!p.isHeirOfCleared || h.clearedSince[os.Getpid()] != p.stat.Start || p.stat.Start == 0) {
		t.Errorf("an heir is not cleared: %+v", p)
	}
	if p := h.newCandidate(1 << 22); p.isHeirOfCleared || p.err == nil {
		t.Errorf("there is no such process: %+v", p)
	}
	var now unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
	if tick := uint64(now.Nano()) / 1e7; nextTick() <= tick {
		t.Error("the next tick is over")
	}
}

// TestCandidates: each process once, and no thread of the kernel.
func TestCandidates(t *testing.T) {
	h := newSearch(Query{})
	list := []int{os.Getppid(), os.Getpid()}
	if s, err := proc.ReadStat(2); err == nil && s.IsKernelThread {
		list = append([]int{2}, list...)
	}
	got := h.candidates(list)
	if len(got) != 2 || got[0].pid != os.Getppid() || got[1].pid != os.Getpid() || len(h.candidates(list)) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestIDsComeRound: ids that come round between two listings mean other processes. If they do so during a round, an
// heir may have a lower id than the listing had come to.
func TestIDsComeRound(t *testing.T) {
	was := lastID
	defer func() { processes, lastID = proc.Processes, was }()
	pid := startCat(t, nil)
	list := []int{pid}
	processes = func() ([]int, error) { return list, nil }
	var ids []int
	lastID = func() (id int) {
		id, ids = ids[0], ids[1:]
		return id
	}
	h := newSearch(Query{})
	for i, c := range []struct {
		before, after int
		list          []int
		want          round
	}{
		{100, 100, []int{pid}, provesNothing},
		{100, 110, []int{pid}, nobodyNew},
		{110, 110, []int{pid}, nobodyNew},
		{50, 50, []int{pid}, provesNothing}, // another process, as far as this tells
		{50, 60, []int{pid}, nobodyNew},
		{60, 40, []int{pid}, provesNothing},
		{0, 0, nil, nobodyNew}, // nothing tells
		{0, 0, nil, nobodyNew},
	} {
		list, ids = c.list, []int{c.before, c.after}
		if got := h.lookRound(); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
		if _, isCleared := h.clearedSince[pid]; isCleared != (c.list != nil) {
			t.Errorf("%d: cleared: %v", i, isCleared)
		}
	}
}

// TestProvesInARow: only so many listings in a row prove something that have nobody new but heirs of cleared ones.
func TestProvesInARow(t *testing.T) {
	defer func() { processes = proc.Processes }()
	heir, stranger := startCat(t, nil), 1
	h := newSearch(Query{})
	h.clearedSince[os.Getpid()] = 0
	listings := 0
	processes = func() ([]int, error) {
		listings++
		delete(h.visited, heir)
		delete(h.visited, stranger)
		if listings == enoughListings { // one too early
			return []int{stranger, heir}, nil
		}
		return []int{heir}, nil
	}
	if !h.everywhere() || listings != 2*enoughListings {
		t.Error("it ended after so many listings: ", listings)
	}
}

// TestRefusals: of who refuses the look all that shows is noted, but of process 1, and of what has ended, nothing.
func TestRefusals(t *testing.T) {
	if !isChild() {
		ended := startEnded(t)
		asChild(t, asNobody(t), []string{fmt.Sprint("ENDED=", ended)})
		return
	}
	var ended int
	fmt.Sscan(os.Getenv("ENDED"), &ended)
	roots := []string{"0", "0", "0", "0"}
	want := Process{Start: proc.Start(os.Getppid()), Users: roots, Groups: roots}
	for _, c := range []struct {
		pid     int
		isAsked bool
		want    int
	}{{os.Getppid(), true, 1}, {os.Getppid(), false, 0}, {1, true, 0}, {1 << 22, true, 0}, {ended, true, 0}} {
		h := newSearch(Query{TellRefused: c.isAsked})
		could := h.lookInto(h.newCandidate(c.pid))
		if could || len(h.Refused) != c.want || h.failed {
			t.Errorf("%+v: %+v", c, h.View)
		}
		for _, p := range h.Refused {
			if p.Start != want.Start || !slices.Equal(p.Users, roots) || !slices.Equal(p.Groups, roots) || p.IsProtected {
				t.Errorf("%+v", p)
			}
		}
		if _, isCleared := h.clearedSince[c.pid]; isCleared != (c.pid != 1<<22) {
			t.Errorf("%+v: counts as cleared: %v", c, isCleared)
		}
	}
	h := newSearch(Query{TellRefused: true})
	if h.lookByOtherThreads(os.Getppid()) || len(h.Refused) == 0 {
		t.Error("by its threads it does not refuse")
	}
	h.noteFailure(7, unix.ENOMEM)
	if !h.failed {
		t.Error("a look that was not made is no failure")
	}
}

// TestListedButUnseen: with fewer rights than another process of its user one can list descriptors and see none.
func TestListedButUnseen(t *testing.T) {
	if !isChild() {
		asNobody(t)
		asChild(t, nil, nil)
		return
	}
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must(unix.Capset(&header, &data[0]))
	_, marked := markedFile(t)
	h := newSearch(Query{Wanted: []*File{marked}, TellRefused: true})
	if h.lookOnce(os.Getppid()) || len(h.Refused) != 1 || h.failed {
		t.Errorf("%+v", h.View)
	}
	if _, told := Openers([]Sought{SoughtFile(marked, true)}); told != TellsSome {
		t.Error(told)
	}
}

// TestOpeners: who has a lifeline, or an open file, by what is known of it.
func TestOpeners(t *testing.T) {
	dir := t.TempDir()
	must(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	fifo, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR, 0)
	must(err)
	defer fifo.Close()
	watcher, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_WRONLY, 0)
	must(err)
	defer watcher.Close()
	file, marked := markedFile(t)
	second, err := os.Open(file.Name())
	must(err)
	defer second.Close()
	must((&Table{FD: int(second.Fd())}).Mark(35, NonBlock))
	unmarked, err := os.Open(file.Name())
	must(err)
	defer unmarked.Close()

	holds, watches := startCat(t, nil, fifo, fifo), startCat(t, nil, watcher)
	hasFile, hasSecond, hasNone := startCat(t, nil, file), startCat(t, nil, second), startCat(t, nil, unmarked)
	dirFD, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(err)
	defer unix.Close(dirFD)
	if !hasKcmp() {
		t.Skip("no kcmp(2)")
	}
	openers, _ := Openers([]Sought{
		SoughtFIFO(dirFD, "fifo"), SoughtFIFO(dirFD, "none"), SoughtFile(marked, true), SoughtFile(marked, false),
	})
	want := [][]int{{holds}, nil, {hasFile}, {hasSecond}}
	if !slices.EqualFunc(openers, want, func(a, b []int) bool { return slices.Equal(a, b) }) {
		t.Error(openers, want, watches, hasNone)
	}
	pids, err := proc.Processes()
	must(err)
	const initial = "user:[4026531837]" // PROC_USER_INIT_INO: the capability is one over all processes
	namespace, _ := os.Readlink("/proc/self/ns/user")
	if slices.Contains(pids, 1) && os.Getuid() == 0 && MayTraceAll() && namespace == initial {
		if _, told := Openers(nil); told != TellsAll {
			t.Error("not all is told: ", told)
		}
	}
	for _, c := range []struct {
		pid  int
		err  error
		want Telling
	}{{7, unix.EACCES, TellsSome}, {1, unix.EACCES, TellsAll}, {7, unix.ENOENT, TellsAll}} {
		if got := TellsAll.after(c.pid, c.err); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	elsewhere := Location{PID: holds, Number: 9}
	if !isAt(elsewhere, elsewhere) || isAt(elsewhere, Location{PID: holds, Number: 8}) || isAt(elsewhere, Location{PID: watches, Number: 9}) {
		t.Error("what is not open is only at itself")
	}
}

// TestOpenersHidden: with hidepid nothing tells how many processes there are.
func TestOpenersHidden(t *testing.T) {
	if isChild() {
		if _, told := Openers(nil); told != TellsSome || !isHidden(os.Getpid()) {
			t.Error(told)
		}
		return
	}
	asNobody(t)
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "proc", "proc", "/proc").CombinedOutput(); err != nil {
		t.Skipf("/proc cannot be mounted: %s", out)
	}
	asChild(t, nil, nil, "unshare", "-m", "sh", "-c", `mount -t tmpfs none /proc && exec "$0" "$@"`)
}
