//go:build flock_linkname

package cstart

import (
	"math"
	_ "unsafe" // for linkname
)

// forceGCPeriod is after how long without a garbage collection the runtime's monitor starts one. While a system call
// blocks it sleeps for half of that, and has nothing else to do then: the supervisor of a command needs no timer.
//
//go:linkname forceGCPeriod runtime.forcegcperiod
var forceGCPeriod int64

func init() { forceGCPeriod = math.MaxInt64 }
