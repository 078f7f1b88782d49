// Package lockfile opens the file that is locked.
//
// It opens the file without O_CLOEXEC and O_NONBLOCK and without an os.File: the descriptor has the lowest free number,
// and the command inherits it, as from a C program. A descriptor that was passed by number belongs to the caller, so
// the package changes nothing about its open file.
//
// Where a system cannot lock descriptors, the lock file is only a name, and its descriptor is -1.
package lockfile

import (
	"os"
	"strconv"
)

// A File is the lock file.
type File struct {
	Name   string // as the user gave it; the number of a descriptor
	FD     int    // -1 if it is not open: see Unopened; or where the system cannot lock descriptors
	ByName bool   // opened under Name by this process, rather than passed by number
	access Access // what it was opened for, if ByName

	forBytes *File // what OpenForBytes has returned; nil: nothing
}

// Access is the access mode of open(2) that a lock needs.
type Access int

const (
	Read      = Access(os.O_RDONLY)
	Write     = Access(os.O_WRONLY)
	ReadWrite = Access(os.O_RDWR)
)

// Network names a kind of network filesystem whose locks differ from those of a local one.
type Network string

const (
	Local Network = "" // or a network filesystem of which nothing is known
	NFS   Network = "NFS"
	SMB   Network = "SMB"
)

// KeepReason says why a lock file is not removed: it may be more than a lock file.
type KeepReason string

const (
	notRegular KeepReason = "it is not a regular file"
	notEmpty   KeepReason = "it is not empty"
	manyLinks  KeepReason = "it has more than one link"
)

func (k KeepReason) Error() string { return string(k) }

// checkRemovable says why the file called name is not one to be removed.
func checkRemovable(name string) error {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notRegular
	case info.Size() != 0:
		return notEmpty
	}
	n, err := countLinks(name, info)
	if err == nil && n != 1 {
		return manyLinks
	}
	return err
}

// IsSame reports whether two names refer to one file.
func IsSame(name, other string) bool {
	one, err1 := os.Stat(name)
	two, err2 := os.Stat(other)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// CloseForBytes closes the file that OpenForBytes has opened, if any.
func (f *File) CloseForBytes() {
	if f.forBytes != nil {
		f.forBytes.Close()
		f.forBytes = nil
	}
}

// Descriptor returns the file that is open as descriptor n.
func Descriptor(n int) *File { return &File{Name: strconv.Itoa(n), FD: n} }

// Unopened returns the file called name without opening it: for a question about its locks, and for systems that cannot
// lock descriptors.
func Unopened(name string) *File { return &File{Name: name, FD: -1, ByName: true} }
