package main

import (
	"strconv"
	"strings"
	"time"
)

// Everything said to the user goes through this file.

// printer says things in the program's name.
type printer struct {
	name   string // base name of argv[0]
	outErr error  // of the first failed write to standard output
	errErr error  // and to standard error

	unwrittenStatus int // exit status if that happens; 0: 1

	unwritten string // to standard output
}

// warn writes a line, after the program's name, to standard error.
func (p *printer) warn(words ...string) {
	p.hint(p.name + ": " + strings.Join(words, "") + "\n")
}

// hint writes to standard error as it stands.
func (p *printer) hint(text string) {
	if err := writeAll(2, text); err != nil {
		p.errErr = err
	}
}

// out writes to standard output as the C library does: to a terminal at once,
// to anything else at the end. A failure is told at the end, too.
func (p *printer) out(text string) {
	p.unwritten += text
	if isTerminal(1) {
		p.flush()
	}
}

func (p *printer) flush() {
	if p.unwritten == "" {
		return
	}
	if err := writeAll(1, p.unwritten); err != nil && p.outErr == nil {
		p.outErr = err
	}
	p.unwritten = ""
}

// status returns the exit status to end with: 1 instead of code if something
// was not written. As in the reference it is no failure that standard output
// is closed, or a pipe that nobody reads.
func (p *printer) status(code int) int {
	p.flush()
	if err := p.outErr; err != nil && !nobodyReads(err) {
		p.warn("write error: ", reason(err))
		return max(p.unwrittenStatus, 1)
	}
	if p.errErr != nil {
		return max(p.unwrittenStatus, 1)
	}
	return code
}

// clock writes a time of day, not too early.
func clock(t time.Time) string {
	return t.Add(time.Second - 1).Format("2006-01-02 15:04:05 -0700")
}

// seconds writes a duration as S.UUUUUU.
func seconds(d time.Duration) string {
	micro := strconv.FormatInt(int64(d/time.Microsecond%1e6)+1e6, 10)
	return strconv.FormatInt(int64(d/time.Second), 10) + "." + micro[1:]
}
