package early

// A Step is what run was doing when it gave up.
type Step uint8

const (
	Nothing   Step = iota // it has done nothing, or was not called
	Opening               // the lock file
	Timing                // setting up the timer of --timeout
	Locking               // or unlocking
	Forking               // for the command
	Executing             // the command; without --no-fork this is in the child
	Waiting               // for the command
)

// A Record is what run has done when it gives up.
type Record struct {
	Failed Step
	Errno  Errno // of the call that failed; 0 at Locking: the call has not been made
	Fd     int   // the lock file's, at Locking
	Waited int64 // for how many nanoseconds, with --timeout
	Added  int32 // how many entries the Go runtime finds before those of the environment
	Slack  int32 // timer slack that the first thread is to have again, in nanoseconds; 0: it has it
}

// result lies in memory that the Go runtime does not clear at its start.
var result Record

// Result returns what the run without the Go runtime has done.
func Result() Record { return result }
