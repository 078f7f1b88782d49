//go:build !linux

package proc

import (
	"errors"
	"time"
)

// Of other processes' users, commands, descriptors and locks nothing is known on these systems.

func Parent(int) int { return 0 }

func Start(int) uint64 { return 0 }

func Children(int) []int { return nil }

func UserID(int) string  { return "" }
func Command(int) string { return "-" }

func Age(int) time.Duration { return 0 }

func Path(int) (string, error) {
	return "", errors.New("on this system a directory lock is for a file and a command, not for a descriptor")
}
