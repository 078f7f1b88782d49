//go:build !linux

package fallback

import "errors"

// Only Linux shows the flags of the open files of other processes.

func (*thisSystem) Inode() uint64               { return 0 }
func (*thisSystem) Place() (p place, err error) { return p, errors.ErrUnsupported }
func (*thisSystem) Marked(*openFile) bool       { return false }
func (*thisSystem) Mark(int, mark) error        { return errors.ErrUnsupported }
func (*thisSystem) Unmark()                     {}
func (*thisSystem) At(*openFile, bool) answer   { return unknown }
