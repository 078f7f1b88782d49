package fallback

// notWatching stands for a descriptor that would tell when an open file of the locked file is closed.
const notWatching = -1

// An answer says whether somebody has a lifeline or an open file.
type answer uint8

const (
	unknown answer = iota // this process cannot tell; it counts as alive
	gone                  // nobody has it, for good
	alive                 // somebody has it
	absent                // there is no such name, or nothing like it at that place
	strange               // it is no lifeline; it counts as alive
)
