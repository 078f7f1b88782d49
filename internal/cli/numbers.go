package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/sys"
)

// Numbers have the grammar of C, of strtod(3) and strtol(3), and not that of Go: there are no underscores, no 0b and no
// 0o. Blanks and a sign may come before a number, but nothing may come after it.

const blanks = " \t\n\v\f\r"

// invalid returns the usage error for a word that is not a number, or, with why, for a number that is not accepted.
func invalid(what, s string, why ...error) error {
	text := what + ": '" + s + "'"
	for _, e := range why {
		text += ": " + sys.Text(e)
	}
	return failure.Usage(text)
}

// hexDigits returns what comes after 0x, and whether the number begins with that.
func hexDigits(number string) (digits string, isHex bool) {
	if len(number) > 2 && number[0] == '0' && (number[1] == 'x' || number[1] == 'X') {
		return number[2:], true
	}
	return "", false
}

// parseSeconds reads a duration in seconds and truncates it to microseconds. If it is too long for a time.Duration
// (about 292 years), it returns the longest one.
func parseSeconds(s, what string) (time.Duration, error) {
	seconds, err := parseFloat(strings.TrimLeft(s, blanks))
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), !(seconds >= 0):
		return 0, withHint(invalid(what, s), secondsHint(s))
	case seconds >= math.MaxInt64/1e9:
		return math.MaxInt64, nil
	}
	return time.Duration(seconds*1e6) * time.Microsecond, nil
}

// parseFloat reads a number as strtod(3) does. A hexadecimal one need not have an exponent.
func parseFloat(number string) (float64, error) {
	if strings.Contains(number, "_") {
		return 0, strconv.ErrSyntax
	}
	if _, isHex := hexDigits(strings.TrimLeft(number, "+-")); isHex && !strings.ContainsAny(number, "pP") {
		number += "p0"
	}
	return strconv.ParseFloat(number, 64)
}

// parseInt reads a decimal integer from min to max.
func parseInt(s string, min, max int64, what string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimLeft(s, blanks), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < min || n > max):
		return 0, invalid(what, s, sys.ErrRange)
	case err != nil:
		return 0, invalid(what, s)
	}
	return int(n), nil
}

// parseDescriptor reads a descriptor number. It accepts negative ones: the caller reports them.
func parseDescriptor(s string) (int, error) {
	return parseInt(s, math.MinInt32, math.MaxInt32, "invalid file descriptor")
}

// parseSize reads a number of bytes: a whole number, or one with a suffix.
func parseSize(s, what string) (int64, error) {
	number := strings.TrimPrefix(strings.TrimLeft(s, blanks), "+")
	size, err := parseWhole(number)
	if errors.Is(err, strconv.ErrSyntax) {
		size, err = parseScaled(number)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, invalid(what, s, sys.ErrRange)
	case err != nil:
		return 0, invalid(what, s, sys.ErrInvalid)
	}
	return size, nil
}

// parseWhole reads a number that is decimal, hexadecimal after 0x, or octal after 0.
func parseWhole(number string) (int64, error) {
	base := 10
	if digits, isHex := hexDigits(number); isHex {
		number, base = digits, 16
	} else if strings.HasPrefix(number, "0") {
		base = 8
	}
	n, err := strconv.ParseUint(number, base, 63)
	return int64(n), err
}

// parseScaled reads a number with a suffix K M G T P E Z Y: a power of 1024 alone and in KiB, of 1000 in KB. The number
// is hexadecimal after 0x; otherwise it is decimal and may have a fraction.
func parseScaled(number string) (int64, error) {
	const prefixes = "KMGTPEZY" + "kmgtpezy"
	end := strings.LastIndexAny(number, prefixes)
	if end < 0 {
		return 0, strconv.ErrSyntax
	}
	size, err := parseFactor(number[:end])
	if err != nil {
		return 0, err
	}
	base, power := 1024.0, 1+strings.IndexByte(prefixes, number[end])%8
	switch number[end+1:] {
	case "", "iB", "ib":
	case "B", "b":
		base = 1000
	default:
		return 0, strconv.ErrSyntax
	}
	if size *= math.Pow(base, float64(power)); size >= math.MaxInt64 {
		return 0, strconv.ErrRange
	}
	return int64(size), nil
}

// parseFactor reads the number before a suffix.
func parseFactor(number string) (float64, error) {
	if digits, isHex := hexDigits(number); isHex {
		n, err := strconv.ParseUint(digits, 16, 63)
		return float64(n), err
	}
	if !strings.ContainsAny(number[:min(1, len(number))], "0123456789") || strings.Trim(number, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(number, 64)
}
