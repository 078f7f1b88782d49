package proc

import (
	"strconv"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func ThisMachine() (m Machine) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return m
	}
	defer k.Close()
	if id, _, err := k.GetStringValue("MachineGuid"); err == nil {
		m.ID = id
	}
	return m
}

// Start returns the creation time, in units of 100 ns since 1601. It does not come twice even across boots,
// so that there is no need for Machine.Boot.
func Start(pid int) (start string, alive bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		// ERROR_INVALID_PARAMETER: there is none. Anything else, such as ERROR_ACCESS_DENIED, is no proof of that.
		return "", err != windows.ERROR_INVALID_PARAMETER
	}
	defer windows.CloseHandle(h)
	// As long as somebody has a handle on it, a process that has ended can be opened.
	if event, err := windows.WaitForSingleObject(h, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return "", false
	}
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return "", true
	}
	return strconv.FormatUint(uint64(created.HighDateTime)<<32|uint64(created.LowDateTime), 10), true
}
