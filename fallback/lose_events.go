//go:build flock_lose_events

package fallback

import (
	"math/rand/v2"
	"time"
)

// For the tests of the whole program: half of the events are lost.
func init() {
	loseEvent = func() time.Duration { return max(0, rand.N(200*time.Millisecond)-100*time.Millisecond) }
}
