//go:build plan9 || windows

package sys

import (
	"os"
	"time"
)

func Sleep(d time.Duration) { time.Sleep(d) }

func IsStale(error) bool { return false }

// BadDescriptor is never true: no descriptor can be locked here.
func BadDescriptor(error) bool { return false }

func Write(fd int, text string) error {
	_, err := map[int]*os.File{1: os.Stdout, 2: os.Stderr}[fd].WriteString(text)
	return err
}
