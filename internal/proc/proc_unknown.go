//go:build darwin || dragonfly || freebsd || illumos || netbsd || openbsd || solaris || windows

package proc

import (
	"errors"
	"math"
	"time"
)

// Of other processes' parents, users, commands, descriptors and locks nothing is known on these systems.

func CanTell() error { return nil }

func Parent(int) int { return 0 }

func Maker(int) int { return 0 }

func UserID(int) string  { return "" }
func Command(int) string { return "-" }

func IsCaller(int) bool { return true }

func IsStopped(int) bool { return false }

func Processes() ([]int, error) { return nil, errors.ErrUnsupported }

func Last() (int, error) { return 0, errors.ErrUnsupported }

func IsProcess(int) bool { return false }

func MayDescend(int) bool { return true }

func Age(string) time.Duration { return math.MaxInt64 }

func KernelLocks(name string, fd int) ([]LockHolder, error) {
	return nil, errors.New("this system does not tell who holds a kernel lock")
}
