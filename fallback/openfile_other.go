//go:build !linux

package fallback

import "errors"

// Only Linux shows the flags of the open files of other processes.

func OpenFile(dir, path string, fd int) (*Lock, error) {
	return nil, errors.New("on this system a directory lock is for a file and a command, not for a descriptor")
}

func (thisSystem) Inode() uint64                                   { return 0 }
func (thisSystem) Place() (p place, err error)                     { return p, errors.ErrUnsupported }
func (thisSystem) Marked(*openFile) bool                           { return false }
func (thisSystem) Mark(int, mark) error                            { return errors.ErrUnsupported }
func (thisSystem) Unmark(mark)                                     {}
func (thisSystem) At(string, *openFile) answer                     { return unknown }
func (thisSystem) Search([]*openFile, []*openFile) (place, answer) { return place{}, unknown }
func (thisSystem) Openers([]record) map[string][]int               { return nil }

func isMountPoint(string) bool { return false }
func isUnmounted(string) bool  { return false }
