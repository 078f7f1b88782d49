package lockfile

import (
	"os"
	"syscall"
)

// countLinks returns how many names the file has.
func countLinks(name string) (uint32, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var info syscall.ByHandleFileInformation
	err = syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info)
	return info.NumberOfLinks, err
}
