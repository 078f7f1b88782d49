package termination

import "context"

// Windows has no such signals.

func Context() context.Context { return context.Background() }
func Defer() context.Context   { return context.Background() }
func IsDue() bool              { return false }
func Finish()                  {}
func Undefer()                 {}
