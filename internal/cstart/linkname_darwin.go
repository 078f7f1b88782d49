//go:build flock_linkname

package cstart

import (
	"math"
	_ "unsafe" // for linkname
)

// pendingPreemptSignals counts the SIGURGs that the runtime sends to itself. Before an exec the runtime waits until its
// handler has counted them down to zero. There is no handler here (islibrary), so the count must never be positive.
//
//go:linkname pendingPreemptSignals runtime.pendingPreemptSignals
var pendingPreemptSignals int32 = math.MinInt32 / 2
