package events

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/windows"
)

// Supported says whether there are events on this system.
const Supported = true

// A Watcher knows what to wait for. It is not for concurrent use. Close it when done.
type Watcher struct {
	change    windows.Handle // 0 if there is none
	dir       *os.File
	processes []process
}

// A process that is watched. A handle stays with its process: the number may be another one's by now.
type process struct {
	pid    int
	handle windows.Handle
}

// maxHandles is MAXIMUM_WAIT_OBJECTS.
const maxHandles = 64

// Directory has Wait end when the open directory changes. It replaces another one. It reports whether that is new: what
// has happened before is not told.
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

// NoDirectory undoes Directory.
func (w *Watcher) NoDirectory() {
	if w.change != 0 {
		windows.FindCloseChangeNotification(w.change)
	}
	w.change, w.dir = 0, nil
}

// Processes has Wait end when one of these processes ends, and of no others. It reports whether any of them is new:
// whether it is the one that was meant is to be looked at now. The error says that at least one is not watched; for one
// that does not exist that is no error, but new.
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
		case e == windows.ERROR_INVALID_PARAMETER: // there is none
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

// Pipe is for systems that can wait for it.
func (w *Watcher) Pipe(int) {}

// Bell is, too.
func (w *Watcher) Bell(int) {}

// Close ends all watching. The Watcher may be used again.
func (w *Watcher) Close() {
	w.NoDirectory()
	w.Processes(nil)
}

// Wait waits until something happens that is watched, the look sees something, or the time is over.
func (w *Watcher) Wait(d time.Duration, look Look) Event {
	return waitLooking(d, look, w.wait)
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
