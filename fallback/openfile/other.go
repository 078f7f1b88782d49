//go:build !linux

package openfile

import "errors"

// Only Linux shows the flags of the open files of other processes.

func (*Table) ID() (id FileID)                 { return id }
func (*Table) Locate() (p Location, err error) { return p, errors.ErrUnsupported }
func (*Table) Marked(*File) bool               { return false }
func (*Table) Mark(int, Mark) error            { return errors.ErrUnsupported }
func (*Table) Unmark()                         {}
func (*Table) At(*File, bool) Answer           { return Unknown }
func (*Table) Search(Query) View               { return View{} }
func (*Table) HidesProcesses() bool            { return true }

func MayTraceAll() bool { return false }
