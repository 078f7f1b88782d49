package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"example.org/flock/internal/sys"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "7": 7, " 7": 7, "+7": 7, "017": 15, "0x1f": 31, "0X1F": 31, "0x1B": 27, "0x1E": 30,
		"1K": 1024, "1k": 1024, "1KiB": 1024, "1kib": 1024, "1KB": 1000, "1kb": 1000, "+1K": 1024, "3M": 3 << 20,
		"2PB": 2e15,
		"1.K": 1024, "1.5K": 1536, "1.5KB": 1500, "1.05K": 1075, "0.25K": 256, "0.3KB": 300,
		"010K": 10240, "0x1K": 1024, "0X1KB": 1000, "0xEK": 14 << 10, "0x1EKiB": 30 << 10, "0x1EB": 0x1eb,
		"0Z": 0, "0Y": 0, "7E": 7 << 60, "9223372036854775807": math.MaxInt64,
	} {
		if got, err := parseSize(s, "size"); got != want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for s, why := range map[string]error{
		"": sys.ErrInvalid, " ": sys.ErrInvalid, "x": sys.ErrInvalid, "K": sys.ErrInvalid, "-1": sys.ErrInvalid,
		"+-1": sys.ErrInvalid,
		"1.":  sys.ErrInvalid, "1.5": sys.ErrInvalid, "1.5.5K": sys.ErrInvalid, "-1K": sys.ErrInvalid,
		"08": sys.ErrInvalid, "0x": sys.ErrInvalid,
		"0xK": sys.ErrInvalid, "1Ki": sys.ErrInvalid, "1KIB": sys.ErrInvalid, "1KiBx": sys.ErrInvalid,
		"1Q": sys.ErrInvalid, "1B": sys.ErrInvalid,
		"1 K": sys.ErrInvalid, "1e3": sys.ErrInvalid, "1EE": sys.ErrInvalid, "nanK": sys.ErrInvalid,
		"infK": sys.ErrInvalid, "1KbB": sys.ErrInvalid, "1KBb": sys.ErrInvalid,
		"1_000": sys.ErrInvalid, "1_0K": sys.ErrInvalid, "0_7": sys.ErrInvalid, "0o17": sys.ErrInvalid,
		"0O17": sys.ErrInvalid,
		"0b11": sys.ErrInvalid, "0b1K": sys.ErrInvalid, "0x1_0": sys.ErrInvalid, "0x1_0K": sys.ErrInvalid,
		"0x1p3":  sys.ErrInvalid,
		"0x1p3K": sys.ErrInvalid, ".5K": sys.ErrInvalid, ".K": sys.ErrInvalid, "0x+1": sys.ErrInvalid,
		"0x.8K":               sys.ErrInvalid,
		"\u0250\u0250\u0250K": sys.ErrInvalid, // in upper case it is longer
		"8E":                  sys.ErrRange, "1Z": sys.ErrRange, "16E": sys.ErrRange,
		"99999999999999999999": sys.ErrRange,
		"0x8000000000000000":   sys.ErrRange, "0xffffffffffffffffK": sys.ErrRange,
	} {
		_, err := parseSize(s, "size")
		if err == nil || !strings.HasSuffix(err.Error(), sys.Text(why)) {
			t.Errorf("parseSize(%q): %v, want %v", s, err, sys.Text(why))
		}
	}
}

func TestParseSeconds(t *testing.T) {
	const forEver = math.MaxInt64
	for s, want := range map[string]time.Duration{
		"1": time.Second, " +1": time.Second, ".5e0": time.Second / 2, "1e3": 1000 * time.Second,
		".000001": time.Microsecond,
		"0":       0, "0e9999": 0, "1e-310": 0, ".0000009": 0, "1e300": forEver, "1e5000": forEver, "inf": forEver,
		"0x10": 16 * time.Second, " +0X.8": time.Second / 2, "0x1.8": 1500 * time.Millisecond, "0x1p3": 8 * time.Second,
		"0x1P-1": time.Second / 2,
	} {
		if got, err := parseSeconds(s, "timeout"); got != want || err != nil {
			t.Errorf("parseSeconds(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "1e", "1 ", "-1", "nan", "1e5000x", "x", "1,5",
		"1_0", "0x1_0", "1_0.5", "0x", "0x.", "0xp1", "0x1p", "0x1g", "0x 1", "-0x1", "0b1", "0o1",
		"infinityx", "+-1"} {
		if got, err := parseSeconds(s, "timeout"); err == nil {
			t.Errorf("parseSeconds(%q) = %v", s, got)
		}
	}
}

func TestParseInt(t *testing.T) {
	for s, want := range map[string]int{"0": 0, " 7": 7, "+7": 7, "010": 10, "-0": 0} {
		if got, err := parseInt(s, 0, 255, "number"); got != want || err != nil {
			t.Errorf("parseInt(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, test := range []struct {
		s          string
		min        int64
		outOfRange bool
	}{
		{"256", 0, true}, {"-1", 0, true}, {"99999999999999999999", 0, true},
		{"-5x", 0, false}, {"-5x", -9, false}, {"256x", 0, false}, {"-x", 0, false}, {"", 0, false}, {"+", 0, false},
		{"0x1", 0, false},
	} {
		_, err := parseInt(test.s, test.min, 255, "number")
		if err == nil || strings.HasSuffix(err.Error(), sys.Text(sys.ErrRange)) != test.outOfRange {
			t.Errorf("parseInt(%q, %d): %v", test.s, test.min, err)
		}
	}
}
