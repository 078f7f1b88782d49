package main

import (
	"os/user"
	"strconv"
	"strings"

	"example.org/flock/fallback"
)

// holding is a process that has the lock or waits for it: a line of --holders.
type holding struct {
	pid     int // 0: not to be known
	mode    string
	waiting bool
	note    string // instead of user and command, for a process that cannot be seen
}

// showHolders lists who holds the lock and who waits, and returns the exit
// status: 0 if somebody holds it, 1 if nobody does.
func showHolders(p *printer, o *options) (int, error) {
	f, err := statLockFile(o)
	if err != nil {
		return 0, err
	}
	list, err := kernelHolders(f, o)
	if err != nil {
		return 0, err
	}
	more, err := directoryHolders(f, o)
	if err != nil {
		return 0, err
	}
	list = append(list, more...)

	status := 1
	rows := [][4]string{}
	if isTerminal(1) {
		rows = append(rows, [4]string{"PID", "MODE", "USER", "COMMAND"})
	}
	for _, h := range list {
		mode := h.mode
		if h.waiting {
			mode += " (waiting)"
		}
		row := [4]string{"-", mode, "-", h.note}
		if h.pid != 0 {
			row[0] = strconv.Itoa(h.pid)
		}
		if h.note == "" && h.pid != 0 {
			if row[2], row[3] = processUser(h.pid), processCommand(h.pid); row[3] == "" {
				continue // it has ended meanwhile
			}
		}
		rows = append(rows, row)
		if !h.waiting {
			status = 0
		}
	}
	p.out(table(rows))
	return status, nil
}

// table lays rows out in columns.
func table(rows [][4]string) string {
	var width [4]int
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-len(cell)+1))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// directoryHolders returns who has the directory lock.
func directoryHolders(f *lockFile, o *options) ([]holding, error) {
	if o.backend != auto && o.backend != directory {
		return nil, nil
	}
	var holders []fallback.Holder
	l, err := openDirectoryLock(f, o)
	if err == nil {
		holders, err = l.Holders()
	}
	if err != nil {
		return nil, &stepError{keeping, f.name, err}
	}
	var list []holding
	for _, h := range holders {
		list = append(list, holdingOf(h))
	}
	return list, nil
}

func holdingOf(h fallback.Holder) holding {
	line := holding{pid: h.PID, mode: h.Mode.String(), waiting: h.Waiting}
	if h.Keeper.PID != 0 && processCommand(h.PID) == "" {
		line.pid = h.Keeper.PID // the owner has ended
	}
	if h.Unreachable {
		line.note = "on host " + h.Host + ": remove " + h.File + " if that is gone"
	}
	return line
}

// userName returns the name of a user, or the number.
func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// printable replaces what could confuse a terminal or a reader of lines.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
