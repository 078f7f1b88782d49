// Package openfile finds open files by their marks: where one is, and in which processes. It knows nothing of the
// protocol; package fallback says what the marks are for. Only Linux shows the open files of other processes.
package openfile

import (
	"fmt"
	"strconv"
	"strings"
)

// A File is an open file that has a lock.
type File struct {
	Location
	FileID // of the locked file
	Mark   Mark
	Signal int // by which it knows its record

	// The start of the process in which the open file was when it was locked; 0: unknown. Location may be another one
	// by now. Whoever has inherited the open file from it was started later. An older process can have it, too, if one
	// between the two has ended: exec 9>f; ( (sleep 1; flock 9) & ); sleep 99
	LockerStart uint64
}

// A FileID is what stat(2) says of a file. An open file can be of the locked file although the path of that leads to
// another device by now: when a filesystem is mounted a second time, both its device numbers are in use.
type FileID struct{ Device, Inode uint64 }

// A Location is a descriptor of a process. The kernel uses process ids again: the start of the process tells them
// apart.
type Location struct {
	PID    int
	Start  uint64 // in clock ticks since boot; 0: unknown
	Number int
}

// A Table has the locked file as this process sees it.
type Table struct {
	Path   string // of the locked file, "" if it is not known
	Opened int    // a descriptor of the locked file, or -1
	FD     int    // the same, if its open file is to have the lock, or -1
}

// An Answer says whether an open file is where it was.
type Answer uint8

const (
	Unknown  Answer = iota // this process cannot tell
	There                  // somebody has it there
	NotThere               // there is nothing like it at that location
)

func (f File) String() string {
	s := fmt.Sprintf("%d.%s.%d.%d.%c.%s-%s", f.PID, base36(f.Start), f.Number, f.Signal, f.Mark, base36(f.Inode),
		base36(f.Device))
	if f.LockerStart != f.Start {
		s += "." + base36(f.LockerStart)
	}
	return s
}

// Parse is the reverse of String, nil for what that does not write.
func Parse(s string) *File {
	f := new(File)
	var start, inode, device, locker string
	fmt.Sscanf(strings.NewReplacer(".", " ", "-", " ").Replace(s), "%d %s %d %d %c %s %s %s", &f.PID, &start, &f.Number,
		&f.Signal, &f.Mark, &inode, &device, &locker)
	f.Start, f.Inode, f.Device = parse36(start), parse36(inode), parse36(device)
	if f.LockerStart = f.Start; locker != "" {
		f.LockerStart = parse36(locker)
	}
	isMark := f.Mark == NoAtime || f.Mark == NonBlock
	if !isMark || f.String() != s || min(f.PID, f.Number, f.Signal) < 0 {
		return nil
	}
	return f
}

func base36(n uint64) string { return strconv.FormatUint(n, 36) }

func parse36(s string) uint64 { n, _ := strconv.ParseUint(s, 36, 64); return n }

// A Mark is a status flag that marks an open file.
type Mark byte

const (
	// NoAtime is O_NOATIME. Only the owner of the file and the superuser may set it, and no program clears it.
	NoAtime Mark = 'a'
	// NonBlock is O_NONBLOCK, which has no effect on files and directories.
	NonBlock Mark = 'n'
)

// Marks are all of them, in the order in which to try them: the second is for a file that belongs to somebody else.
var Marks = []Mark{NoAtime, NonBlock}

func (m Mark) String() string {
	if m == NoAtime {
		return "O_NOATIME"
	}
	return "O_NONBLOCK"
}
