//go:build linux && (riscv64 || loong64)

package cstart

// sigaction is the kernel's struct sigaction.
type sigaction struct {
	handler uintptr
	flags   uintptr
	mask    [1]uintptr
}
