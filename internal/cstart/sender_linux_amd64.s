//go:build flock_linkname

#include "textflag.h"

// flock_handler is a signal handler, which the kernel calls as C does: DI is the signal, SI its siginfo_t. The kernel
// restores all registers behind it.
TEXT flock_handler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	CMPL	8(SI), $0x80		// si_code is SI_KERNEL
	JEQ	next
	LEAQ	·sent(SB), AX
	MOVL	$1, (AX)(DI*4)
next:
	MOVQ	·runtimeHandler(SB), AX
	JMP	AX

TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	LEAQ	flock_handler(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
