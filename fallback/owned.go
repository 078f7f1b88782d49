package fallback

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"example.org/flock/internal/openfile"
)

// What flock(1) needs besides the methods of Lock: it locks for other processes than itself, and for open files that
// others have.

// OfProcess returns the lock on the file called path whose state directory is dir (see StateDir), for the process pid.
// number tells several locks of one process apart, as the number of a descriptor does; -1 is none. Locks of different
// processes for the same pid and number are one holder: what one of them has locked, the other converts and unlocks.
func OfProcess(dir, path string, pid, number int) (*Lock, error) {
	owner, err := process(pid)
	if err != nil {
		return nil, err
	}
	owner.number = number
	return &Lock{dir: dir, path: path, owner: owner, file: openFile{fd: -1}}, nil
}

// OfQueue returns a lock for this process whose permits are the places of those who wait for the lock with the state
// directory dir. Its own state is inside that.
func OfQueue(dir, path string) (*Lock, error) {
	state, err := openState(dir, true)
	if err != nil {
		return nil, err
	}
	state.close()
	return OfProcess(filepath.Join(dir, "queue"), path, os.Getpid(), -1)
}

// OfFile returns the lock on the open file that is our descriptor fd. It lasts until the last descriptor of that open file
// is closed, in whatever process; who has the open file converts and unlocks it. dir and path are as in OfProcess. It
// returns nil where this system cannot mark the open file.
//
// alone says that this process has opened the file, and no other has it. fixed says that such a process keeps the descriptor
// under this number until it ends, and does not become another program, which could move it. If it is not alone,
// holder returns a process that has the open file, and under which number: that is where others look for it first, and all
// that other unprivileged users know of it. For them the lock lasts at least as long as that process.
func OfFile(dir, path string, fd int, alone, fixed bool, holder func() (pid, number int)) (*Lock, error) {
	kind, identity := openfile.Stat(fd)
	if kind == openfile.Other || !openfile.CanMark(fd) {
		return nil, nil
	}
	owner, err := self()
	if err != nil {
		return nil, err
	}
	number := fd
	if !alone {
		pid, n := holder()
		if o, err := process(pid); err == nil { // otherwise it has just ended
			owner, number = o, n
		}
	}
	owner.number, owner.file, owner.opened, owner.fixed = number, identity, alone, alone && fixed
	f := openFile{fd: fd, marked: true, inherited: !alone, isDirectory: kind == openfile.Directory}
	return &Lock{dir: dir, path: path, owner: owner, file: f}, nil
}

// An openFile is the open file whose lock it is.
type openFile struct {
	fd        int // our descriptor; -1: none, the lock is a process's
	marked    bool
	inherited bool // whether others than this process, and those that it starts, may have it

	isDirectory bool

	// The first process that we have started with it, and when.
	child   int
	started time.Time
}

// Acquire takes the lock as the request says. The other methods are made from it. What waiting has opened stays open until
// Started: closing it takes the system some milliseconds.
func (l *Lock) Acquire(r Request) error { return l.acquire(context.Background(), r) }

// A Request says how a lock is wanted.
type Request struct {
	Mode     Mode
	Permits  int       // for Mode Permit: how many holders of a permit there may be at once, ours included
	Try      bool      // do not wait
	Deadline time.Time // when to give up; zero: never
}

// Started says that process pid was started and has the open file. If a descendant of ours has it when Unlock is called, the
// lock stays.
func (l *Lock) Started(pid int) {
	l.file.child, l.file.started = pid, time.Now()
	go l.watcher.Close() // which can take longer than what was started
}
