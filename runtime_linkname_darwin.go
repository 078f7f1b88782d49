//go:build flock_linkname

package main

import (
	"math"
	_ "unsafe" // for linkname
)

// pendingPreemptSignals counts the runtime's SIGURGs to itself, and before an
// exec the runtime waits until its signal handler has counted them off. There
// is no handler (islibrary), and a SIGURG is ignored, so that it would wait for
// ever: it must not find the count positive.
//
//go:linkname pendingPreemptSignals runtime.pendingPreemptSignals
var pendingPreemptSignals int32 = math.MinInt32 / 2
