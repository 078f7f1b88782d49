package fallback

import "runtime"

// tellsEnd reports whether the system tells a waiter that nobody has another's lifeline any more. Windows does
// not, nor does poll(2) on macOS, NetBSD, DragonFly and illumos; of OpenBSD it is not known. There, who releases
// the lock rings the first waiter, and for the sake of those that were killed, waiters ask.
var tellsEnd = runtime.GOOS == "linux" || runtime.GOOS == "android" || runtime.GOOS == "freebsd"

// notWatching stands for a descriptor that would tell when an open file of the locked file is closed.
const notWatching = -1

// An answer says whether somebody has a lifeline or an open file.
type answer uint8

const (
	unknown    answer = iota // this process cannot tell; it counts as alive
	gone                     // nobody has it, for good
	alive                    // somebody has it
	absent                   // there is no such name, or nothing like it at that place
	noLifeline               // it is no lifeline; it counts as alive
)
