// A ptrace(2) for User-Mode Linux on a processor with AMX, by LD_PRELOAD. Its kernel (6.12) sets the registers of its processes
// from a buffer that has no room for AMX; the kernel of the host refuses one that is shorter than all of the processor's state
// (EFAULT), and process 1 of the machine is killed. So this fills the buffer up with zeros, and says that AMX is not in it.
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { peektext = 1, peekuser = 3, getregset = 0x4204, setregset = 0x4205, xstate = 0x202 };

// Where the state says what is in it, and all that can be but AMX.
enum { xstate_bv = 512, no_amx = 0x2ff };

long ptrace(int request, ...) {
	static __thread unsigned char state[1 << 14];
	va_list rest;
	va_start(rest, request);
	long pid = va_arg(rest, int);
	long address = va_arg(rest, long);
	void *data = va_arg(rest, void *);
	va_end(rest);
	if (request >= peektext && request <= peekuser) { // here the system call stores what the function returns
		long word;
		return syscall(SYS_ptrace, request, pid, address, &word) == 0 ? word : -1;
	}
	struct iovec *given = data, whole = {state, sizeof state};
	if (request == setregset && address == xstate && syscall(SYS_ptrace, getregset, pid, address, &whole) == 0 &&
	    given->iov_len < whole.iov_len) {
		memset(state, 0, whole.iov_len);
		memcpy(state, given->iov_base, given->iov_len);
		unsigned long present;
		memcpy(&present, state + xstate_bv, sizeof present);
		present &= no_amx;
		memcpy(state + xstate_bv, &present, sizeof present);
		data = &whole;
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
