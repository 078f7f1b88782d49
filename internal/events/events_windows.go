package events

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/windows"
)

// Supported reports whether this system has events.
const Supported = true

// A Watcher is the set of things to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	change    windows.Handle // 0 if there is none
	dir       *os.File
	processes []process
}

// A process is one that is watched. The handle stays with its process; another process could get the number.
type process struct {
	pid    int
	handle windows.Handle
}

// maxHandles is MAXIMUM_WAIT_OBJECTS.
const maxHandles = 64

// Directory makes Wait end when the open directory changes. It replaces the directory of an earlier call. It reports
// whether the directory is new: no event reports changes that were made before.
func (w *Watcher) Directory(dir *os.File) (added bool, err error) {
	if w.dir == dir {
		return false, nil
	}
	w.NoDirectory()
	w.change, err = windows.FindFirstChangeNotification(dir.Name(), false, windows.FILE_NOTIFY_CHANGE_FILE_NAME)
	if err != nil {
		w.change = 0
		return false, err
	}
	w.dir = dir
	return true, nil
}

// NoDirectory ends the watching of the directory.
func (w *Watcher) NoDirectory() {
	if w.change != 0 {
		windows.FindCloseChangeNotification(w.change)
	}
	w.change, w.dir = 0, nil
}

// Processes makes Wait end when one of these processes ends. It replaces the processes of an earlier call. It reports
// whether any of them is new: the caller must then check that the id still is that of the process it means. An error says
// that at least one of them cannot be watched. A process that does not exist is new and is not an error.
func (w *Watcher) Processes(pids []int) (added bool, err error) {
	var kept []process
	for _, p := range w.processes {
		if slices.Contains(pids, p.pid) {
			kept = append(kept, p)
		} else {
			windows.CloseHandle(p.handle)
		}
	}
	w.processes = kept
	for _, pid := range pids {
		if w.watches(pid) {
			continue
		}
		handle, e := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
		switch {
		case e == windows.ERROR_INVALID_PARAMETER: // there is no such process
			added = true
		case e != nil:
			err = e
		case len(w.processes) == maxHandles-1:
			windows.CloseHandle(handle)
			err = windows.ERROR_TOO_MANY_OPEN_FILES
		default:
			w.processes = append(w.processes, process{pid, handle})
			added = true
		}
	}
	return added, err
}

func (w *Watcher) watches(pid int) bool {
	return slices.ContainsFunc(w.processes, func(p process) bool { return p.pid == pid })
}

// Pipe does nothing here. Only Linux has it.
func (w *Watcher) Pipe(int) {}

// Bell does nothing here. Only Linux has it.
func (w *Watcher) Bell(int) {}

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	w.NoDirectory()
	w.Processes(nil)
}

// Wait waits until an event happens, a check of look fails, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	return waitAndLook(d, look, w.wait)
}

func (w *Watcher) wait(d time.Duration) Event {
	var handles []windows.Handle
	for _, p := range w.processes {
		handles = append(handles, p.handle)
	}
	if w.change != 0 {
		handles = append(handles, w.change)
	}
	if len(handles) == 0 {
		time.Sleep(d)
		return Timeout
	}
	// Rounded up: with 0 it would return at once.
	n, err := windows.WaitForMultipleObjects(handles, false, uint32((d+time.Millisecond-1)/time.Millisecond))
	i := int(n) - windows.WAIT_OBJECT_0
	switch {
	case err != nil:
		time.Sleep(min(d, 10*time.Millisecond))
		return Timeout
	case i < 0 || i >= len(handles):
		return Timeout
	case i < len(w.processes):
		windows.CloseHandle(w.processes[i].handle)
		w.processes = slices.Delete(w.processes, i, i+1)
		return Ended
	}
	if windows.FindNextChangeNotification(w.change) != nil {
		w.NoDirectory()
	}
	return Changed
}
