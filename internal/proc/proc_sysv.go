//go:build illumos || solaris

package proc

import (
	"os"
	"strconv"
)

// Path returns the name under which a descriptor's file was opened.
func Path(fd int) (string, error) {
	return os.Readlink("/proc/self/path/" + strconv.Itoa(fd))
}
