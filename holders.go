package main

import (
	"errors"
	"io/fs"
	"os/user"
	"strconv"
	"strings"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/sys"
)

// holding is a process that has the lock or waits for it: a line of --holders.
type holding struct {
	pid     int // 0: not to be known
	mode    string
	waiting bool
	free    bool   // a cooldown: that nobody has it
	note    string // instead of user and command, for a process that cannot be seen
}

// showHolders lists who holds the lock and who waits, and returns the exit
// status: 0 if somebody holds it, 1 if nobody does. All that is not one of these
// answers has another status.
func showHolders(p *printer, o *options) (int, error) {
	p.unwrittenStatus = exOSErr
	var list []holding
	f, missing := statLockFile(o)
	if missing != nil {
		if !o.hasFile || !errors.Is(missing, fs.ErrNotExist) {
			return 0, missing
		}
		// No kernel lock is on it. A directory lock outlasts its file.
		f = &lockFile{name: o.file, named: true, fd: -1}
	} else {
		var err error
		if list, err = kernelHolders(f, o); err != nil {
			return 0, err
		}
	}
	more, err := directoryHolders(f, o)
	if err != nil && (missing == nil || !errors.Is(err, fs.ErrNotExist)) {
		return 0, err
	}
	list = append(list, more...)
	if missing != nil && len(list) == 0 {
		p.warn(missing.Error()) // nobody has it, but the name may be mistyped
	}
	if missing == nil {
		if end, err := f.modTime(); err == nil && time.Until(end) > 0 {
			list = append(list, holding{mode: "cooldown", note: "until " + clock(end), free: true})
		}
	}

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
		for i := range row {
			row[i] = sys.Printable(row[i])
		}
		rows = append(rows, row)
		if !h.waiting && !h.free {
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
	l, err := openDirectoryLock(f, o)
	if _, usage := err.(*usageError); usage {
		return nil, err
	}
	if err != nil {
		return nil, &stepError{seeing, f.name, err}
	}
	holders, err := l.Holders()
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
		line.note = h.Where() + ": remove " + h.File + " if that is gone"
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
