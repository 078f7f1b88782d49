//go:build !linux

package holders

import (
	"errors"

	"example.org/flock/internal/lockfile"
)

func kernelHolders(*lockfile.File, query) ([]Entry, error) {
	return nil, errors.New("this system does not show who holds a kernel lock")
}

// Keepers, AncestorWithTicket and kernelHoldersAmong are for what only Linux tells.
func Keepers(int) List { return List{} }

func AncestorWithTicket(*lockfile.File) Entry { return Entry{} }

func kernelHoldersAmong([]int, *lockfile.File, query) []Entry { return nil }

// seesAll reports whether the processes of the whole system can be seen here.
func seesAll() bool { return true }
