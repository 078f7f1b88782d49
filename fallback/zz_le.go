package fallback
import "time"
var lookEvery = 40*time.Millisecond
