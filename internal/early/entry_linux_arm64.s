#include "textflag.h"

// flock_entry is the entry point of the program if the linker gets -E flock_entry.
// It calls run. If run returns, it jumps to the entry point of the Go runtime,
// which starts as usual.
TEXT flock_entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVD	RSP, R0			// argc, argv, environment
	SUB	$64, RSP		// a link register, two arguments, and the g, on this stack
	ADD	$24, RSP, g
	MOVD	ZR, 40(RSP)		// g.stackguard0: no function finds its stack too small
	MOVD	R0, 8(RSP)
	MOVD	$flock_catch<>(SB), R0
	MOVD	R0, 16(RSP)
	BL	·run(SB)
	ADD	$64, RSP		// as the kernel left it
	B	_rt0_arm64_linux(SB)

// flock_catch is a struct sigaction: a handler that does nothing. Without
// SA_RESTART a system call that the signal interrupts returns EINTR.
DATA flock_catch<>+0(SB)/8, $flock_handler<>(SB)
GLOBL flock_catch<>(SB), RODATA, $32

// The kernel has put the address of its sigreturn code in the link register.
TEXT flock_handler<>(SB), NOSPLIT|NOFRAME, $0
	RET
