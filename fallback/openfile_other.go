//go:build !linux

package fallback

import "errors"

// Only Linux shows the flags of the open files of other processes.

func OpenFile(dir, path string, fd int) (*Lock, error) {
	return nil, errors.New("on this system a directory lock is for a file and a command, not for a descriptor")
}

// OpenLifeline returns nil: on this system no descriptor is taken for a lifeline.
func OpenLifeline(fd int) (*Lock, error) { return nil, nil }

func (*thisSystem) Inode() uint64                                { return 0 }
func (*thisSystem) Place() (p place, err error)                  { return p, errors.ErrUnsupported }
func (*thisSystem) Marked(*openFile) bool                        { return false }
func (*thisSystem) Mark(int, mark) error                         { return errors.ErrUnsupported }
func (*thisSystem) Unmark(mark)                                  {}
func (*thisSystem) At(*openFile, bool) answer                    { return unknown }
func (*thisSystem) Search([]*openFile, []*openFile, uint64) view { return view{} }
func (*thisSystem) SeesAll() bool                                { return false }
func (*thisSystem) HidesProcesses() bool                         { return true }
func (*thisSystem) Process(int) (p process, ok bool)             { return p, false }
func (*thisSystem) Openers([]record) map[string][]int            { return nil }
func (*thisSystem) WatchFile() bool                              { return false }
func (*thisSystem) stopWatching()                                {}

func thisUser() user          { return user{} }
func startOfProcess1() string { return "" }

func isMountPoint(string) bool    { return false }
func isKnownDevice(string) bool   { return false }
func isUnknownDevice(string) bool { return false }
