//go:build flock_linkname

#include "textflag.h"

// flock_tell is a signal handler, which the kernel calls as C does: R1 is its siginfo_t. It returns to the kernel, which
// restores all registers.
TEXT flock_tell(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVW	·tellTo(SB), R0
	MOVD	$12, R2		// Told
	MOVD	$64, R8		// write
	SVC
	RET

TEXT ·tellAddress(SB), NOSPLIT, $0-8
	MOVD	$flock_tell(SB), R3
	MOVD	R3, ret+0(FP)
	RET
