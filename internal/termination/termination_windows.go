package termination

import (
	"context"
	"syscall"
)

// Windows has no such signals.

func Context() context.Context { return context.Background() }
func Defer() context.Context   { return context.Background() }
func IsDue() bool              { return false }
func Finish()                  {}
func Allow()                   {}
func Undefer()                 {}

func FinishBy(syscall.Signal) {}
