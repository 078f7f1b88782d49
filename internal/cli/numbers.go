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

// As for strtod(3) and strtol(3), blanks and a sign may come before a number, but nothing after it.

const blanks = " \t\n\v\f\r"

// invalid returns the usage error for a word that is not a number, or, with why, for a number that is not accepted.
func invalid(what, s string, why ...error) error {
	text := what + ": '" + s + "'"
	for _, e := range why {
		text += ": " + sys.Text(e)
	}
	return failure.Usage(text)
}

// parseSeconds reads a duration in seconds and truncates it to microseconds. If it is too long for a time.Duration
// (about 292 years), it returns the longest one.
func parseSeconds(s, what string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(strings.TrimLeft(s, blanks), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), !(seconds >= 0):
		return 0, invalid(what, s)
	case seconds >= math.MaxInt64/1e9:
		return math.MaxInt64, nil
	}
	return time.Duration(seconds*1e6) * time.Microsecond, nil
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

// parseSize reads a number of bytes: decimal, 0x or 0 for octal; or decimal with a suffix K M G T P E Z Y (powers of 1024;
// KiB is the same; KB is 1000), and before the suffix a fraction.
func parseSize(s, what string) (int64, error) {
	number := strings.TrimLeft(s, blanks)
	n, err := strconv.ParseInt(number, 0, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		n, err = scaledSize(number)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, invalid(what, s, sys.ErrRange)
	case err != nil || n < 0:
		return 0, invalid(what, s, sys.ErrInvalid)
	}
	return n, nil
}

// scaledSize reads a number with a suffix.
func scaledSize(number string) (int64, error) {
	const prefixes = "KMGTPEZY"
	end := strings.IndexAny(strings.ToUpper(number), prefixes)
	if end < 0 {
		return 0, strconv.ErrSyntax
	}
	size, err := strconv.ParseFloat(number[:end], 64)
	if err != nil {
		return 0, err
	}
	base, power := 1024.0, 1+strings.IndexByte(prefixes, strings.ToUpper(number)[end])
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
