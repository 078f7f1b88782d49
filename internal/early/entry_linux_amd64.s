#include "textflag.h"

// flock_entry is where the kernel starts the program, if the linker is told so
// by -E. It calls run, and then has the Go runtime start as if nothing had
// happened.
TEXT flock_entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	// Go code reads g from the thread's local storage, 8 bytes below FS.
	MOVL	$158, AX		// arch_prctl
	MOVL	$0x1002, DI		// ARCH_SET_FS
	LEAQ	flock_tls<>+8(SB), SI
	SYSCALL
	TESTQ	AX, AX
	JNE	runtime			// a kernel or filter without it
	MOVQ	SP, AX			// argc, argv, environment
	SUBQ	$16, SP			// room for the arguments
	MOVQ	AX, 0(SP)
	LEAQ	flock_catch<>(SB), AX
	MOVQ	AX, 8(SP)
	CALL	·run(SB)
	ADDQ	$16, SP			// as the kernel left it
runtime:
	JMP	_rt0_amd64_linux(SB)

// flock_tls is the pointer to g, and g itself, of which only stackguard0 is
// ever read: with a limit of 0 no function finds its stack too small. Nobody
// writes to it.
DATA flock_tls<>+0(SB)/8, $flock_tls<>+8(SB)
GLOBL flock_tls<>(SB), RODATA, $64

// flock_catch is a struct sigaction: a handler that does nothing, no
// SA_RESTART, so that the system call that the signal interrupts returns EINTR.
DATA flock_catch<>+0(SB)/8, $flock_handler<>(SB)
DATA flock_catch<>+8(SB)/8, $0x04000000	// SA_RESTORER, which amd64 wants
DATA flock_catch<>+16(SB)/8, $flock_restorer<>(SB)
GLOBL flock_catch<>(SB), RODATA, $32

TEXT flock_handler<>(SB), NOSPLIT|NOFRAME, $0
	RET

TEXT flock_restorer<>(SB), NOSPLIT|NOFRAME, $0
	MOVL	$15, AX			// rt_sigreturn
	SYSCALL
