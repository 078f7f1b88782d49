//go:build flock_linkname

#include "textflag.h"

// flock_entry is the entry point of the program if the linker gets -E flock_entry.
// It calls run. If run returns, it jumps to the entry point of the Go runtime,
// which starts as usual.
TEXT flock_entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ	SP, BX			// argc, argv, environment
	SUBQ	$64, SP			// an argument, a pointer to g, the g
	LEAQ	24(SP), SI
	MOVQ	SI, 16(SP)		// Go code reads the pointer 8 bytes below FS
	MOVQ	$0, 40(SP)		// g.stackguard0: no function finds its stack too small
	MOVL	$158, AX		// arch_prctl
	MOVL	$0x1002, DI		// ARCH_SET_FS
	SYSCALL
	TESTQ	AX, AX
	JNE	refused			// by a system call filter
	MOVQ	BX, 0(SP)
	CALL	·run(SB)
	ADDQ	$64, SP			// argc, argv, environment
	JMP	_rt0_amd64_linux(SB)
refused:
	MOVL	$1, AX			// write
	MOVL	$2, DI
	LEAQ	refusal<>(SB), SI
	MOVL	$48, DX
	SYSCALL
	MOVL	$231, AX		// exit_group: neither the Go runtime nor a C library can start
	MOVL	$127, DI		// the status of a C program, which its dynamic loader ends
	SYSCALL

DATA	refusal<>+0(SB)/8, $"flock: c"
DATA	refusal<>+8(SB)/8, $"annot st"
DATA	refusal<>+16(SB)/8, $"art: arc"
DATA	refusal<>+24(SB)/8, $"h_prctl("
DATA	refusal<>+32(SB)/8, $"2) is fo"
DATA	refusal<>+40(SB)/8, $"rbidden\n"
GLOBL	refusal<>(SB), RODATA|NOPTR, $48
