//go:build linux && (mips || mipsle || mips64 || mips64le)

package cstart

// sigaction is the kernel's struct sigaction. MIPS has 128 signals.
type sigaction struct {
	flags   uint32
	handler uintptr
	mask    [16]byte
}
