#include "textflag.h"

TEXT ·handler(SB), NOSPLIT, $0-8
	MOVD	$caught<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET

TEXT ·restorer(SB), NOSPLIT, $0-16
	MOVD	ZR, address+0(FP)
	MOVD	ZR, flag+8(FP)
	RET

// The kernel has put the address of its sigreturn code in the link register.
TEXT caught<>(SB), NOSPLIT|NOFRAME, $0
	RET
