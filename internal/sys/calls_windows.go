package sys

import "time"

func Sleep(d time.Duration) { time.Sleep(d) }
