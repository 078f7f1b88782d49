//go:build !linux

package fallback

import "errors"

// Only Linux shows the flags of the open files of other processes.

const canMark = false

func (thisSystem) Inode() uint64                                   { return 0 }
func (thisSystem) Place() (p place, err error)                     { return p, errors.ErrUnsupported }
func (thisSystem) Marked(*openFile) bool                           { return false }
func (thisSystem) Mark(int, mark) error                            { return errors.ErrUnsupported }
func (thisSystem) Unmark(mark)                                     {}
func (thisSystem) At(string, *openFile) answer                     { return unknown }
func (thisSystem) Search([]*openFile, []*openFile) (place, answer) { return place{}, unknown }

// Openers calls f for no process.
func (thisSystem) Openers(func(pid int, of record), []record) {}

func isMountPoint(string) bool { return false }
