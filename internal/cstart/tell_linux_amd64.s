//go:build flock_linkname

#include "textflag.h"

// flock_tell is a signal handler, which the kernel calls as C does: SI is its siginfo_t. It returns to the kernel, which
// restores all registers.
TEXT flock_tell(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVL	·tellTo(SB), DI
	MOVL	$12, DX		// Told
	MOVL	$1, AX		// write
	SYSCALL
	RET

TEXT ·tellAddress(SB), NOSPLIT, $0-8
	LEAQ	flock_tell(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
