package output

import (
	"bytes"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/flock/internal/failure"
)

// A broken writer takes nothing.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestWords has each word print, into a buffer and to where nothing can be written, and asks for the exit status.
func TestWords(t *testing.T) {
	usage := failure.Usage("wrong")
	usage.Try, usage.Hint = true, "right"
	for name, c := range map[string]struct {
		print    func(p *Printer)
		out, err string
		outLost  int // the exit status if standard output cannot be written
		errLost  int // and standard error
	}{
		"Print": {func(p *Printer) { p.Print("text\n") }, "text\n", "", 1, 0},
		"PrintTable": {func(p *Printer) { p.PrintTable(nil, [][]string{{"a", "b"}, {"cc", "d"}}) },
			"a  b\ncc d\n", "", 1, 0},
		"PrintVerbose": {func(p *Printer) { p.PrintVerbose("text") }, "", "", 0, 0},
		"Fail":         {func(p *Printer) { p.Fail(errors.New("text")) }, "", "name: text\n", 0, 1},
		"Fail, hint": {func(p *Printer) { p.Fail(usage) }, "",
			"name: wrong\nTry 'name --help' for more information.\nname: right\n", 0, 1},
		"Warn":        {func(p *Printer) { p.Warn("text") }, "", "name: text\n", 0, 1},
		"WarnVerbose": {func(p *Printer) { p.WarnVerbose("text") }, "", "", 0, 0},
		"Note":        {func(p *Printer) { p.Note("text") }, "", "name: text\n", 0, 0},
		"forgotten":   {func(p *Printer) { p.Warn("text"); p.ForgetFailures() }, "", "name: text\n", 0, 0},
	} {
		var out, err bytes.Buffer
		p := &Printer{Name: "name", Out: &out, Err: &err}
		if c.print(p); p.Status(0) != 0 || out.String() != c.out || err.String() != c.err {
			t.Errorf("%s: %q, %q, want %q, %q", name, out.String(), err.String(), c.out, c.err)
		}
		p = &Printer{Name: "name", Out: broken{syscall.ENOSPC}, Err: &err}
		if c.print(p); p.Status(0) != c.outLost {
			t.Errorf("%s: with a full disk the status is not %d", name, c.outLost)
		}
		p = &Printer{Name: "name", Out: broken{syscall.EPIPE}, Err: &err}
		if c.print(p); p.Status(0) != 0 {
			t.Errorf("%s: without a reader the status is not 0", name)
		}
		p = &Printer{Name: "name", Out: &out, Err: broken{syscall.ENOSPC}}
		if c.print(p); p.Status(0) != c.errLost {
			t.Errorf("%s: if standard error is a full disk the status is not %d", name, c.errLost)
		}
	}
}

// A slow writer takes a while for each text.
type slow struct {
	mu  sync.Mutex
	got string
}

func (s *slow) Write(text []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got += string(text)
	return len(text), nil
}

// TestOrder has all words print beside what the process does: their order stays.
func TestOrder(t *testing.T) {
	var err slow
	p := &Printer{Name: "name", Err: &err}
	p.Beside()
	p.Note("1")
	p.Fail(errors.New("2"))
	p.Note("3")
	p.Warn("4")
	p.Status(0)
	if err.got != "name: 1\nname: 2\nname: 3\nname: 4\n" {
		t.Errorf("%q", err.got)
	}
}

func TestFormatAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "0 s", 1999 * time.Millisecond: "1 s", 119 * time.Second: "119 s", 2 * time.Minute: "2 min",
		119 * time.Minute: "119 min",
		2 * time.Hour:     "2 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", 1000 * 24 * time.Hour: "1000 days",
	} {
		if got := FormatAge(age); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}
