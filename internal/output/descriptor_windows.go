package output

import (
	"os"

	"golang.org/x/sys/windows"
)

func (fd descriptor) isTerminal() bool {
	var mode uint32
	return windows.GetConsoleMode([]windows.Handle{1: windows.Stdout, 2: windows.Stderr}[fd], &mode) == nil
}

func (fd descriptor) Write(text []byte) (int, error) {
	return map[descriptor]*os.File{1: os.Stdout, 2: os.Stderr}[fd].Write(text)
}
