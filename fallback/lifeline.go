package fallback

import "runtime"

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more. Windows does
// not, nor does poll(2) on macOS, NetBSD, DragonFly and illumos; of OpenBSD it is not known. There, who releases
// the lock rings the first waiter, and for the sake of those that were killed, waiters ask.
var tellsEnd = runtime.GOOS == "linux" || runtime.GOOS == "android" || runtime.GOOS == "freebsd"

// An answer says whether somebody has a lifeline: a FIFO has a reader then and, on Windows, an event a handle.
type answer uint8

const (
	unknown    answer = iota // this process cannot tell: it counts as if somebody has it
	noReader                 // nobody has it, for good
	hasReader                // somebody has it
	noName                   // there is no such name
	noLifeline               // it is no lifeline: this process cannot tell, either
)
