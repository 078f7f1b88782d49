//go:build !(mips || mipsle || mips64 || mips64le || riscv64 || loong64)

package cstart

// sigaction is the kernel's struct sigaction.
type sigaction struct {
	handler  uintptr
	flags    uintptr
	restorer uintptr
	mask     [8 / ptrSize]uintptr
}

const ptrSize = 4 << (^uintptr(0) >> 63)
