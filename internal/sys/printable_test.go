package sys

import "testing"

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"":                            "",
		"sleep 100":                   "sleep 100",
		"grüße 日本 é ~":                "grüße 日本 é ~",
		"a\nb\r\tc\x00":               "a?b??c?",
		"\x1b[31mred\x7f":             "?[31mred?",
		"\u009b31m\u0085":             "?31m?", // C1
		"\x9b31m":                     "?31m",  // and as a byte
		"a\u202eb\u2066c\u200fd":      "a?b?c?d",
		"a\u2028b\u2029c\ufeff\u200b": "a?b?c??",
		"\xff\xc3(\xe2\x80":           "??(??",
		"\ufffd":                      "\ufffd",
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q: %q, not %q", s, got, want)
		}
	}
}
