// Package output prints to the user in the program's name, for flock and for the programs of backends. Everything that
// they say goes through it, except what package early says, by one of four words:
//
//	Print  what the user has asked for, to standard output
//	Fail   an error, to standard error; it gives the exit status
//	Warn   what the user must know, to standard error; if it cannot be written, the exit status says so
//	Note   a remark, to standard error; if it cannot be written, it is lost
//
// Those that end in Verbose print only with --verbose.
package output

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// A Printer prints in the name of a program.
type Printer struct {
	Name     string // of the program, without its directory
	Verbose  bool
	Out, Err io.Writer

	// UnwrittenStatus is the exit status if standard output cannot be written; 0 means 1.
	UnwrittenStatus int

	beside    atomic.Pointer[besideWriter] // see Beside
	mu        sync.Mutex                   // for lines on standard error, which are written beside a wait, too
	outErr    error                        // of the first failed write to standard output
	errErr    error                        // and to standard error
	unwritten string                       // to standard output
}

// New returns a printer to standard output and standard error.
func New(name string) *Printer { return &Printer{Name: name, Out: descriptor(1), Err: descriptor(2)} }

// A descriptor is that of standard output or standard error.
type descriptor int

// isTerminal reports whether somebody may read at a terminal what goes to w.
func isTerminal(w io.Writer) bool {
	fd, ok := w.(descriptor)
	return ok && fd.isTerminal()
}

// Fail prints an error, with the lines that help, and returns the exit status.
func (p *Printer) Fail(err error) (status int) {
	p.Warn(err.Error())
	var known *failure.Error
	if !errors.As(err, &known) {
		return failure.ExOSErr
	}
	if known.Try { // as the C library's getopt programs do
		p.writeError("Try '" + p.Name + " --help' for more information.\n")
	}
	if known.Hint != "" {
		p.Warn(strings.ReplaceAll(known.Hint, failure.Program, p.Name))
	}
	return known.Status
}

// Warn prints a line, after the program's name, to standard error.
func (p *Printer) Warn(text string) { p.writeError(p.line(p.Err, text)) }

// line returns a line of the program's own, after its name. Names and options may contain anything, such as what a
// terminal obeys, so it is made printable for one.
func (p *Printer) line(to io.Writer, text string) string {
	text = p.Name + ": " + text
	if isTerminal(to) {
		text = sys.Printable(text)
	}
	return text + "\n"
}

// Note prints a remark: a line as Warn does, but if it cannot be written that changes no exit status.
func (p *Printer) Note(text string) {
	if beside := p.beside.Load(); beside != nil {
		beside.write(p.line(p.Err, text))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.Err, p.line(p.Err, text))
}

// WarnVerbose is Warn with --verbose only.
func (p *Printer) WarnVerbose(text string) {
	if p.Verbose {
		p.Warn(text)
	}
}

func (p *Printer) writeError(text string) {
	p.endBeside()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.Err, text); err != nil {
		p.errErr = err
	}
}

// endBeside ends what Beside has begun. It waits until the lines are written.
func (p *Printer) endBeside() {
	if beside := p.beside.Swap(nil); beside != nil {
		beside.wait()
	}
}

// Print prints to standard output as the C library does: to a terminal at once, to anything else at the end. A failure
// is reported at the end, too.
func (p *Printer) Print(text string) {
	p.unwritten += text
	if isTerminal(p.Out) {
		p.Flush()
	}
}

// PrintVerbose prints a line, after the program's name, with --verbose only.
func (p *Printer) PrintVerbose(text string) {
	if p.Verbose {
		p.Print(p.line(p.Out, text))
	}
}

// PrintTable prints rows in columns, to a terminal under a header.
func (p *Printer) PrintTable(header []string, rows [][]string) {
	if isTerminal(p.Out) {
		rows = slices.Insert(rows, 0, header)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	for _, row := range rows {
		io.WriteString(w, strings.Join(row, "\t")+"\n")
	}
	w.Flush()
	p.Print(b.String())
}

// Flush writes what is to be printed. It returns the error of the first write to standard output that failed, this one
// or an earlier one.
func (p *Printer) Flush() error {
	if p.unwritten != "" {
		if _, err := io.WriteString(p.Out, p.unwritten); err != nil && p.outErr == nil {
			p.outErr = err
		}
		p.unwritten = ""
	}
	return p.outErr
}

// ForgetFailures makes failed writes have no effect on the exit status.
func (p *Printer) ForgetFailures() { p.outErr, p.errErr = nil, nil }

// Status flushes, and returns the exit status to end with: 1 instead of code if something could not be written. As in
// util-linux, a closed standard output or a pipe without a reader is no failure.
func (p *Printer) Status(code int) int {
	p.endBeside()
	if err := p.Flush(); err != nil && !sys.NobodyReads(err) {
		p.Warn("write error: " + sys.Text(err))
		return max(p.UnwrittenStatus, 1)
	}
	if p.errErr != nil {
		return max(p.UnwrittenStatus, 1)
	}
	return code
}

// FormatSeconds writes a duration as S.UUUUUU.
func FormatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Truncate(time.Microsecond).Seconds(), 'f', 6, 64)
}

// FormatAge writes how long something has lasted, in the largest unit that fits twice.
func FormatAge(d time.Duration) string {
	n, unit := int64(d/time.Second), "s"
	for _, larger := range []struct {
		size int64
		unit string
	}{{60, "min"}, {60, "h"}, {24, "days"}} {
		if n < 2*larger.size {
			break
		}
		n, unit = n/larger.size, larger.unit
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// Clock is how a time of day is written.
const Clock = "2006-01-02 15:04:05 -0700"

// FormatClock writes a time of day, rounded up to the next second.
func FormatClock(t time.Time) string { return t.Add(time.Second - 1).Format(Clock) }
