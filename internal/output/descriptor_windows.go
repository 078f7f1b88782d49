package output

import (
	"os"

	"golang.org/x/sys/windows"
)

func isTerminal(fd int) bool {
	var mode uint32
	return windows.GetConsoleMode([]windows.Handle{1: windows.Stdout, 2: windows.Stderr}[fd], &mode) == nil
}

func write(fd int, text string) error {
	_, err := map[int]*os.File{1: os.Stdout, 2: os.Stderr}[fd].WriteString(text)
	return err
}
