//go:build aix || darwin || dragonfly || freebsd || illumos || netbsd || openbsd || plan9 || solaris || windows

package openfile

// These systems do not show the flags of open files. The answers are those that are safe.

func CanMark(int) bool { return false }

func Set(int) Mark { return None }

func Clear(int, Mark) {}

func Has(int, Mark) bool { return false }

func Stat(int) (Kind, string) { return Other, "" }

func IdentityOf(string) string { return "" }

func (Search) At(pid, number int) State { return Hidden }

func (Search) In(pid int, careful bool) (numbers []int, visible bool) { return nil, false }

func (Search) Unmarked(pid, number int) bool { return false }

func (Search) Compare(pid, number, pid2, number2 int, steady bool) Comparison { return Unknown }

func (Search) CompareOurs(pid, number, fd int, steady bool) Comparison { return Unknown }

func Find(pid, number, fd int, elsewhere bool) (found int, state State) { return 0, Hidden }

func Moves(int) bool { return false }

func Activity(int) string { return "" }

func KeepStill(words map[int]string) { clear(words) }
