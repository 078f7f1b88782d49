package locks

import (
	"math"
	"testing"
)

// TestBytes has the numbers that all who use a lock file must agree on, other versions of this program, too.
func TestBytes(t *testing.T) {
	for start, want := range map[int64]string{
		1<<61 - 1:                 "",
		1 << 61:                   "place",
		1<<61 + math.MaxInt32 - 1: "place",
		1<<61 + math.MaxInt32:     "",
		1<<61 + 1<<32:             "ticket", // with number 0, which nobody takes
		1<<61 + 1<<32 + 1:         "ticket",
		1<<61 + 1<<32 + 1<<60:     "ticket",
		1<<61 + 1<<32 + 1<<60 + 1: "",
		1<<62 - 2:                 "",
		1<<62 - 1:                 "turn",
		1 << 62:                   "permit",
		1<<62 + math.MaxInt32 - 1: "permit",
		1<<62 + math.MaxInt32:     "",
	} {
		got := ""
		for name, r := range map[string]Range{"place": Places, "ticket": Tickets, "turn": Turn, "permit": Permits} {
			if r.Has(start) {
				got += name
			}
		}
		if got != want {
			t.Errorf("%#x: %q, not %q", start, got, want)
		}
	}
	if Places.At(0).Start != 1<<61 || Tickets.At(1).Start != 1<<61+1<<32+1 || Permits.At(0).Start != 1<<62 {
		t.Error("the first place, ticket or permit is elsewhere")
	}
}
