// Package termination decides what a signal does that would end this process. It ends it at once; or only when that is
// done on which others depend, such as the removal of a record of the directory lock (Defer); or it is for the command
// of a guard, to which this process passes it on (Catch, Notify).
//
//	after                 a signal
//	the start             ends the process at once
//	Defer, Context        ends a wait; the process dies a second later, or at the second signal. Only SIGINT, SIGTERM
//	                      and SIGHUP are deferred.
//	Catch, Notify         of Forwarded is for the command: Next returns it, or a channel
//	Signals.CommandEnded  the process dies a second later, or at the second signal
//	Undefer               ends the process at once
//	Finish                the process has ended by the first one that has come, or by that of EndBy, if there is one
//
// After that second, or at the second signal, the process ends as if nothing had been deferred, whatever it does: a
// call to a file server that is gone does not end by a signal that is handled.
package termination

import "time"

// patience is how long termination can be deferred.
const patience = time.Second
