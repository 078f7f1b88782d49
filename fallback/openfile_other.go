//go:build !linux

package fallback

import "errors"

// Only Linux shows the flags of the open files of other processes.

const canMark = false

func (s thisSystem) Inode() uint64                                 { return 0 }
func (thisSystem) Place() (p place, inode uint64, err error)       { return p, 0, errors.ErrUnsupported }
func (thisSystem) Marked(*openFile) bool                           { return false }
func (thisSystem) Mark(int, mark) error                            { return errors.ErrUnsupported }
func (thisSystem) Unmark(mark)                                     {}
func (thisSystem) At(*openFile) answer                             { return unknown }
func (thisSystem) Search([]*openFile, []*openFile) (place, answer) { return place{}, unknown }
func (thisSystem) SeesAll() bool                                   { return false }

// Openers calls f for no process.
func (thisSystem) Openers(func(pid int, of record), []record) {}

func isMountPoint(string) bool { return false }
