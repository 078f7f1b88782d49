package lockfile

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers of statfs(2) are those of the sources of the filesystems: GPFS is the four letters.
func TestUncertainFilesystems(t *testing.T) {
	for magic, name := range map[uint32]string{
		'G'<<24 | 'P'<<16 | 'F'<<8 | 'S': "GPFS",
		0x0bd00bd0:                       "Lustre",
		0x65735546:                       "FUSE or virtiofs",
		0x01021997:                       "9p",
		unix.EXT4_SUPER_MAGIC:            "",
		unix.NFS_SUPER_MAGIC:             "",
		unix.TMPFS_MAGIC:                 "",
	} {
		if got := uncertainFilesystems[magic]; got != name {
			t.Errorf("%#x is %q, want %q", magic, got, name)
		}
	}
}

func TestUncertainOfAnOrdinaryFile(t *testing.T) {
	f, err := os.Open("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := (&File{FD: int(f.Fd())}).Uncertain(); got != "" {
		t.Errorf("/proc is %q", got)
	}
}
