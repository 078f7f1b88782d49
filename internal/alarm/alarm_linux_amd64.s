#include "textflag.h"

TEXT ·handler(SB), NOSPLIT, $0-8
	LEAQ	caught<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

TEXT ·restorer(SB), NOSPLIT, $0-16
	LEAQ	done<>(SB), AX
	MOVQ	AX, address+0(FP)
	MOVQ	$0x04000000, flag+8(FP)	// SA_RESTORER, required on amd64
	RET

TEXT caught<>(SB), NOSPLIT|NOFRAME, $0
	RET

TEXT done<>(SB), NOSPLIT|NOFRAME, $0
	MOVL	$15, AX			// rt_sigreturn
	SYSCALL
