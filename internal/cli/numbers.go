package cli

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/sys"
)

// The numbers on the command line, read as the C library's strtod(3) and
// strtol(3) read them: blanks and a sign may stand in front, nothing behind.

const blanks = " \t\n\v\f\r"

// invalid is the usage error for a number that is none, or, with a reason why,
// not an acceptable one.
func invalid(what, s string, why ...error) error {
	text := what + ": '" + s + "'"
	for _, e := range why {
		text += ": " + sys.Text(e)
	}
	return &UsageError{Text: text}
}

// parseSeconds reads a duration in seconds, to the microsecond. One too long
// for a time.Duration, some 292 years, is the longest there is.
func parseSeconds(s, what string) (time.Duration, error) {
	number := strings.TrimLeft(s, blanks)
	if strings.Contains(number, "_") {
		return 0, invalid(what, s)
	}
	if strings.ContainsAny(number, "xX") && !strings.ContainsAny(number, "pP") {
		number += "p0" // Go wants an exponent in 0x10, C does not
	}
	seconds, err := strconv.ParseFloat(number, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(seconds >= 0) {
		return 0, invalid(what, s)
	}
	if seconds >= math.MaxInt64/1e9 {
		return math.MaxInt64, nil
	}
	return time.Duration(seconds*1e6) * time.Microsecond, nil
}

// parseInt reads a decimal integer from min to max.
func parseInt(s string, min, max int64, what string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimLeft(s, blanks), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalid(what, s)
	}
	if err != nil || n < min || n > max {
		return 0, invalid(what, s, sys.ErrRange)
	}
	return int(n), nil
}

// parseDescriptor reads a descriptor number. A negative one is no error yet.
func parseDescriptor(s string) (int, error) {
	return parseInt(s, math.MinInt32, math.MaxInt32, "invalid file descriptor")
}

// parseSize reads a number of bytes: decimal, 0x or 0 for octal, with a suffix
// K M G T P E (powers of 1024; KiB too; KB is 1000), then also with a fraction.
// What exceeds an int64 comes out negative, for the lock call to refuse.
func parseSize(s, what string) (int64, error) {
	number := strings.TrimLeft(s, blanks)
	end := strings.LastIndexFunc(number, isDigit)
	if strings.HasPrefix(number, "0x") || strings.HasPrefix(number, "0X") {
		end = strings.LastIndexFunc(number, isHexDigit)
	}
	number, suffix := number[:end+1], number[end+1:]
	factor, fits, ok := sizeFactor(suffix)
	whole, fraction, hasFraction := strings.Cut(number, ".")
	if !ok || strings.Contains(number, "_") || strings.HasPrefix(number, "-") || hasFraction && suffix == "" {
		return 0, invalid(what, s, sys.ErrInvalid)
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(whole, "+"), 0, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalid(what, s, sys.ErrInvalid)
	}
	high, size := bits.Mul64(n, factor)
	if err != nil || high != 0 || !fits {
		return 0, invalid(what, s, sys.ErrRange)
	}
	if hasFraction {
		part, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil {
			return 0, invalid(what, s, sys.ErrInvalid)
		}
		size += uint64(part * float64(factor))
	}
	return int64(size), nil
}

// sizeFactor returns what a suffix multiplies by, and whether that fits into
// 64 bits, as Z and Y do not.
func sizeFactor(suffix string) (factor uint64, fits, ok bool) {
	if suffix == "" {
		return 1, true, true
	}
	base := uint64(1024)
	switch strings.ToLower(suffix[1:]) {
	case "", "ib":
	case "b":
		base = 1000
	default:
		return 0, false, false
	}
	power := strings.IndexByte("KMGTPEZY", strings.ToUpper(suffix)[0])
	if power < 0 {
		return 0, false, false
	}
	factor = 1
	for i := 0; i <= power; i++ {
		high, low := bits.Mul64(factor, base)
		if high != 0 {
			return 0, false, true
		}
		factor = low
	}
	return factor, true, true
}

func isDigit(r rune) bool    { return '0' <= r && r <= '9' }
func isHexDigit(r rune) bool { return isDigit(r) || strings.ContainsRune("abcdefABCDEF", r) }
