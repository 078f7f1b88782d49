package main

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"example.org/flock/fallback"
	"example.org/flock/internal/cli"
	"example.org/flock/internal/kernlock"
	"example.org/flock/internal/lockfile"
	"example.org/flock/internal/output"
	"example.org/flock/internal/proc"
	"example.org/flock/internal/sys"
)

// A listing is a line of --holders: a process that holds the lock or waits for it, or a cooldown.
type listing struct {
	pid     int // 0: unknown
	mode    string
	waiting bool
	free    bool   // nobody holds the lock because of it
	note    string // instead of user and command, where there is no process that can be seen
}

// showHolders lists who holds the lock and who waits, and returns the exit status: 0 if somebody holds it, 1 if nobody does.
// Anything that is not one of these answers has another status.
func showHolders(p *output.Printer, o *cli.Options) int {
	p.UnwrittenStatus = output.ExOSErr
	list, err := listHolders(p, o)
	if err != nil {
		return fail(p, err)
	}
	status := 1
	var rows [][]string
	if sys.IsTerminal(1) {
		rows = append(rows, []string{"PID", "MODE", "USER", "COMMAND"})
	}
	for _, l := range list {
		row, ok := l.row()
		if !ok {
			continue // it has ended meanwhile
		}
		rows = append(rows, row)
		if !l.waiting && !l.free {
			status = 0
		}
	}
	p.Print(output.FormatTable(rows))
	return status
}

// listHolders returns the holders of kernel locks, those of the directory lock, and the cooldown.
func listHolders(p *output.Printer, o *cli.Options) (list []listing, err error) {
	f := lockfile.Unopened(o.File)
	if o.FD >= 0 {
		f = lockfile.Descriptor(o.FD)
	}
	cooldownEnd, missing := f.ModTime()
	switch {
	case missing == nil:
		if list, err = kernelHolders(f, o); err != nil {
			return nil, err
		}
	case !f.ByName:
		return nil, &fileError{locking, f.Name, missing}
	case !errors.Is(missing, fs.ErrNotExist):
		return nil, &fileError{opening, f.Name, missing}
	}
	// A directory lock can outlast its file.
	more, err := directoryHolders(f, o)
	if err != nil && (missing == nil || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	list = append(list, more...)
	switch {
	case missing == nil && time.Until(cooldownEnd) > 0:
		list = append(list, listing{mode: "cooldown", note: "until " + output.FormatClock(cooldownEnd), free: true})
	case missing != nil && len(list) == 0:
		p.Warn((&fileError{opening, f.Name, missing}).Error()) // nobody holds it, but the name may be mistyped
	}
	return list, nil
}

// kernelHolders returns who has a kernel lock.
func kernelHolders(f *lockfile.File, o *cli.Options) (list []listing, err error) {
	if o.Backend == cli.Directory || !kernlock.HasFlock && o.Backend != cli.ByFcntl {
		return nil, nil // here the lock is a directory's
	}
	name, fd := f.Name, -1
	if !f.ByName {
		fd = f.FD
	}
	holders, err := proc.KernelLocks(name, fd)
	if err != nil {
		return nil, &fileError{listingHolders, f.Name, err}
	}
	for _, h := range holders {
		l := listing{pid: h.PID, mode: h.Mode, waiting: h.Waiting}
		if h.PID == 0 && !h.Waiting {
			l.note = "a process that this user may not see"
		}
		list = append(list, l)
	}
	return list, nil
}

// directoryHolders returns who has the directory lock.
func directoryHolders(f *lockfile.File, o *cli.Options) (list []listing, err error) {
	if o.Backend != cli.Auto && o.Backend != cli.Directory {
		return nil, nil
	}
	dir, path, err := stateDir(f)
	if _, usage := err.(*cli.UsageError); usage {
		return nil, err
	}
	var l *fallback.Lock
	if err == nil {
		l, err = fallback.OfProcess(dir, path, os.Getpid(), -1)
	}
	if err != nil {
		return nil, &fileError{listingHolders, f.Name, err}
	}
	holders, err := l.Holders()
	if err != nil {
		return nil, &fileError{lockingDirectory, f.Name, err}
	}
	for _, h := range holders {
		line := listing{pid: h.PID, mode: h.Mode.String(), waiting: h.Waiting}
		if h.Unreachable {
			line.note = h.Where() + ": remove " + h.Path + " if that is gone"
		}
		list = append(list, line)
	}
	return list, nil
}

// row returns the columns, and false for a process that has ended.
func (l listing) row() (row []string, ok bool) {
	row = []string{"-", l.mode, "-", l.note}
	if l.waiting {
		row[1] += " (waiting)"
	}
	if l.pid != 0 {
		row[0] = strconv.Itoa(l.pid)
	}
	if l.note == "" && l.pid != 0 {
		if row[2], row[3] = userOf(l.pid), proc.Command(l.pid); row[3] == "" {
			return row, false
		}
	}
	for i := range row {
		row[i] = sys.Printable(row[i])
	}
	return row, true
}

// userOf returns the name of the user whose process it is, or the user's number.
func userOf(pid int) string {
	uid := proc.UserID(pid)
	if uid == "" {
		return "-"
	}
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}
