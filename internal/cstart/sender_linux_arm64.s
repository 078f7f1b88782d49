//go:build flock_linkname

#include "textflag.h"

// flock_handler is a signal handler, which the kernel calls as C does: R0 is the signal, R1 its siginfo_t. The kernel
// restores all registers behind it.
TEXT flock_handler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVW	8(R1), R3
	CMPW	$0x80, R3		// si_code is SI_KERNEL
	BEQ	next
	MOVD	$·sent(SB), R3
	MOVD	$1, R4
	MOVW	R4, (R3)(R0<<2)
next:
	MOVD	·runtimeHandler(SB), R3
	JMP	(R3)

TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	MOVD	$flock_handler(SB), R3
	MOVD	R3, ret+0(FP)
	RET
