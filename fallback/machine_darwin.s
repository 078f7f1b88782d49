#include "textflag.h"

TEXT jumpToGethostuuid<>(SB),NOSPLIT,$0-0
	JMP libc_gethostuuid(SB)

GLOBL ·addressOfGethostuuid(SB), RODATA, $8
DATA ·addressOfGethostuuid(SB)/8, $jumpToGethostuuid<>(SB)
