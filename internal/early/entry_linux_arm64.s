//go:build flock_linkname

#include "textflag.h"

// flock_entry is the entry point of the program if the linker gets -E flock_entry.
// It calls run. If run returns, it jumps to the entry point of the Go runtime,
// which starts as usual.
TEXT flock_entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVD	RSP, R0			// argc, argv, environment
	SUB	$64, RSP		// a link register, an argument, the g
	ADD	$24, RSP, g
	MOVD	ZR, 40(RSP)		// g.stackguard0: no function finds its stack too small
	MOVD	R0, 8(RSP)
	BL	·run(SB)
	ADD	$64, RSP		// argc, argv, environment
	B	_rt0_arm64_linux(SB)
