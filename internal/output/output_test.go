package output

import (
	"testing"
	"time"
)

func TestFormatAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "0 s", 1999 * time.Millisecond: "1 s", 119 * time.Second: "119 s", 2 * time.Minute: "2 min",
		119 * time.Minute: "119 min",
		2 * time.Hour:     "2 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", 1000 * 24 * time.Hour: "1000 days",
	} {
		if got := FormatAge(age); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}
