// Package termination defers the termination of this process by a signal, until what others depend on is done: a record
// of the directory lock is removed, a place in its queue is given back.
//
// SIGINT, SIGTERM and SIGHUP only end a wait at first. At the second signal, or after a second, the process dies as if
// nothing had been deferred, whatever it does: a call to a file server that is gone does not end by a signal that is
// handled.
package termination

import "time"

// patience is how long termination can be deferred.
const patience = time.Second
