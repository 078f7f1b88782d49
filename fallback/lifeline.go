package fallback

// An answer says whether somebody has a lifeline: a FIFO has a reader then and, on Windows, an event a handle.
type answer uint8

const (
	unknown    answer = iota // this process cannot tell: it counts as if somebody has it
	noReader                 // nobody has it, for good
	hasReader                // somebody has it
	noName                   // there is no such name
	noLifeline               // it is no lifeline: this process cannot tell, either
)
