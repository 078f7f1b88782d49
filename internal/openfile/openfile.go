// Package openfile marks open files, and finds them in other processes.
//
// An open file (the open file description of open(2)) can be shared by several descriptors and processes. The kernel
// keeps its status flags exactly as long as somebody has it open: they follow it through fork, dup, exec and SCM_RIGHTS.
// On Linux every process of the same user can read them in /proc/PID/fdinfo. So a flag that has no effect on regular
// files and directories can mark an open file, and tell later whether somebody still has it.
//
// Only Linux shows the flags of other processes' open files. On other systems CanMark reports false, and nothing is
// found.
package openfile

// A Mark is a status flag that marks an open file.
type Mark byte

const (
	// None is no mark.
	None Mark = 0
	// NoAtime is O_NOATIME. Only the owner of the file and the superuser may set it, and no program clears it.
	NoAtime Mark = 'a'
	// NonBlock is O_NONBLOCK, which some programs clear on their standard input and output.
	NonBlock Mark = 'n'
)

// A Kind is a kind of file.
type Kind uint8

const (
	Other Kind = iota
	Regular
	Directory
)

// A State is what a process has under a descriptor number.
type State uint8

const (
	// Absent: the descriptor is another file, or is not open.
	Absent State = iota
	// Found is an open file that was searched for.
	Found
	// Hidden is unknown: this user may not look into the process.
	Hidden
	// Gone is that there is no such process.
	Gone
)

// LastOfUser is the last number of a descriptor that a shell leaves to its user. Under a higher one it keeps a descriptor
// whose number a function has for another file, until the function ends.
const LastOfUser = 9

// A Comparison is what is known of two descriptors.
type Comparison uint8

const (
	// Unknown is that this user may not compare them: some container runtimes forbid kcmp(2), and some kernels lack it.
	Unknown Comparison = iota
	// Unsure is that it cannot be told now: one of them is gone, or moves, or other processes compare in the same way.
	Unsure
	// Different is that they are two open files.
	Different
	// Equal is that they are one open file.
	Equal
)

// A Search says what to look for: open files of one file that have the mark.
type Search struct {
	// Files are the identities that the file may have (Stat). It can have two: when overlayfs copies a file, those
	// who have it open see another one from then on.
	Files []string
	// Mark is the mark; with None, open files without a mark are found.
	Mark Mark
	// Ours, if not nil, is a descriptor of ours. With kcmp(2), In finds only its open file.
	Ours *int
	// Accept, if not nil, is given each descriptor that In finds, and reports whether that is enough. If it is not, In looks
	// again where descriptors may have moved.
	Accept func(pid, number int) bool
	// OnlyStill says that Accept is not given those of a process that runs, and may be moving them.
	OnlyStill bool
}
