package events

import (
	"time"

	"golang.org/x/sys/windows"
)

// maxProcesses is MAXIMUM_WAIT_OBJECTS, less one for the directory.
const maxProcesses = 63

// A process is one that is watched. The handle stays with its process; another process could get the number.
type process struct {
	pid    int
	handle windows.Handle
}

type watches struct {
	change windows.Handle // 0 if there is none
	dir    Directory
}

func (w *watches) directory(d Directory) (err error) {
	w.change, err = windows.FindFirstChangeNotification(d.Name, false, windows.FILE_NOTIFY_CHANGE_FILE_NAME)
	if err != nil {
		w.change = 0
	}
	return err
}

func (w *watches) noDirectory() {
	if w.change != 0 {
		windows.FindCloseChangeNotification(w.change)
	}
	w.change, w.dir = 0, Directory{}
}

func (*watches) add(pid int) (process, error) {
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err == windows.ERROR_INVALID_PARAMETER {
		err = errGone
	}
	return process{pid, handle}, err
}

func (*watches) remove(p process) { windows.CloseHandle(p.handle) }

func (w *watches) close() { w.noDirectory() }

func (w *watches) waitOnce(d time.Duration, processes []process) (event Event, ended []int) {
	var handles []windows.Handle
	for _, p := range processes {
		handles = append(handles, p.handle)
	}
	if w.change != 0 {
		handles = append(handles, w.change)
	}
	if len(handles) == 0 {
		time.Sleep(d)
		return Timeout, nil
	}
	// Rounded up: with 0 it would return at once.
	n, err := windows.WaitForMultipleObjects(handles, false, uint32((d+time.Millisecond-1)/time.Millisecond))
	i := int(n) - windows.WAIT_OBJECT_0
	switch {
	case err != nil:
		time.Sleep(min(d, 10*time.Millisecond))
		return Timeout, nil
	case i < 0 || i >= len(handles):
		return Timeout, nil
	case i < len(processes):
		return Ended, []int{processes[i].pid}
	}
	if windows.FindNextChangeNotification(w.change) != nil {
		w.noDirectory()
	}
	return Changed, nil
}
