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
	MOVL	$231, AX		// exit_group: neither the Go runtime nor a C library can start
	MOVL	$127, DI
	SYSCALL
