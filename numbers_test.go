package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "7": 7, " 7": 7, "+7": 7, "017": 15, "0x1f": 31, "0X1F": 31,
		"1K": 1024, "1k": 1024, "1KiB": 1024, "1kib": 1024, "1KB": 1000, "1kb": 1000,
		"0x10KB": 16000, "0x1B": 27, "010.5K": 8704, "0Z": 0, "0Y": 0, "7E": 7 << 60,
		"1.K": 1024, "1.0K": 1024, "1..5K": 1536, "1.5K": 1536, "1.5KB": 1500, "1.05K": 1075,
		"0.7K": 1024, "0.25K": 255, "0.3M": 349525, "0.3KB": 333, "0.99K": 1117, "1.010K": 1126,
		"0.10K": 1024, "0.100K": 1024, "0.010K": 102, "0.011K": 11,
		"0.18446744073709551615K":   191,
		"0.0000000000000000000001K": 0,
		"8E":                        math.MinInt64,
	} {
		if got, err := parseSize(s, "size"); got != want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	if got, err := parseSize("7.99E", "size"); got >= 0 || err != nil {
		t.Errorf("parseSize(7.99E) = %d, %v", got, err)
	}
}

func TestParseSizeErrors(t *testing.T) {
	for s, why := range map[string]error{
		"": errInvalid, " ": errInvalid, "x": errInvalid, "K": errInvalid, "-1": errInvalid, "+-1": errInvalid,
		"1.": errInvalid, "1.0": errInvalid, "1.5": errInvalid, ".5K": errInvalid, "1.5.5K": errInvalid,
		"0o17": errInvalid, "0b11": errInvalid, "08": errInvalid, "0x": errInvalid, "0xK": errInvalid, "1_0": errInvalid,
		"1Ki": errInvalid, "1KIB": errInvalid, "1KiBx": errInvalid, "1Q": errInvalid, "1B": errInvalid, "1 K": errInvalid,
		"1Z": errRange, "16E": errRange, "99999999999999999999": errRange, "99999999999999999999x": errRange,
		"0.18446744073709551616K": errRange,
	} {
		_, err := parseSize(s, "size")
		if err == nil || !strings.HasSuffix(err.Error(), reason(why)) {
			t.Errorf("parseSize(%q): %v, want %v", s, err, reason(why))
		}
	}
}

func TestParseSeconds(t *testing.T) {
	const forEver = math.MaxInt64
	for s, want := range map[string]time.Duration{
		"1": time.Second, " +1": time.Second, ".5e0": time.Second / 2, "1e3": 1000 * time.Second, "0x10": 16 * time.Second,
		"0": 0, "0e9999": 0, "1e-310": 0, "1e300": forEver, "1e4000": forEver, "inf": forEver,
	} {
		if got, err := parseSeconds(s, "timeout"); got != want || err != nil {
			t.Errorf("parseSeconds(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for s, outOfRange := range map[string]bool{
		"1e5000": true, "-1e5000": true, "1e-5000": true, "1e99999999999999999999": true, "0x1p20000": true,
		"": false, "1e": false, "1 ": false, "-1": false, "nan": false, "1_0": false, "1e5000x": false, "x": false,
	} {
		_, err := parseSeconds(s, "timeout")
		if err == nil || strings.HasSuffix(err.Error(), reason(errRange)) != outOfRange {
			t.Errorf("parseSeconds(%q): %v", s, err)
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
		{"256", 0, true}, {"-1", 0, true}, {"-5x", 0, true}, {"99999999999999999999x", 0, true},
		{"-5x", -9, false}, {"256x", 0, false}, {"-x", 0, false}, {"", 0, false}, {"+", 0, false}, {"0x1", 0, false},
	} {
		_, err := parseInt(test.s, test.min, 255, "number")
		if err == nil || strings.HasSuffix(err.Error(), reason(errRange)) != test.outOfRange {
			t.Errorf("parseInt(%q, %d): %v", test.s, test.min, err)
		}
	}
}
