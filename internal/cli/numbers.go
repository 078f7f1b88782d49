package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"example.org/flock/internal/sys"
)

// The numbers on the command line are read as strtod(3) and strtol(3) of the C library read them: blanks and a sign may
// come before them, nothing after them.

const blanks = " \t\n\v\f\r"

// invalid returns the usage error for a word that is not a number, or, with why, for a number that is not accepted.
func invalid(what, s string, why ...error) error {
	text := what + ": '" + s + "'"
	for _, e := range why {
		text += ": " + sys.Text(e)
	}
	return &UsageError{Text: text}
}

// parseSeconds reads a duration in seconds and truncates it to microseconds. If it is too long for a time.Duration
// (about 292 years), it returns the longest one.
func parseSeconds(s, what string) (time.Duration, error) {
	number := strings.TrimLeft(s, blanks)
	if strings.Contains(number, "_") {
		return 0, invalid(what, s)
	}
	if strings.ContainsAny(number, "xX") && !strings.ContainsAny(number, "pP") {
		number += "p0" // Go requires an exponent in 0x10, C does not
	}
	if exceedsLongDouble(number) {
		return 0, invalid(what, s, sys.ErrRange)
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

// exceedsLongDouble reports whether a number with an exponent is too large or too small for a long double of x86:
// 1e5000 is an error, not infinity.
func exceedsLongDouble(number string) bool {
	marks, base := "eE", 10.0
	if strings.ContainsAny(number, "xX") {
		marks, base = "pP", 2
	}
	at := strings.IndexAny(number, marks)
	if at < 0 {
		return false
	}
	zero := number[at:at+1] + "0"
	mantissa, err := strconv.ParseFloat(number[:at]+zero, 64)
	if err != nil || mantissa == 0 {
		return false
	}
	exponent, err := strconv.ParseFloat(number[at+1:], 64)
	if err != nil || strings.ContainsAny(number[at+1:], ".eExXpPiInN") {
		return false // an exponent is an integer
	}
	size := math.Log10(math.Abs(mantissa)) + exponent*math.Log10(base)
	return size > 4932.075 || size < -4931.474
}

// parseInt reads a decimal integer from min to max.
func parseInt(s string, min, max int64, what string) (int, error) {
	number := strings.TrimLeft(s, blanks)
	digits := number
	if strings.HasPrefix(number, "-") || strings.HasPrefix(number, "+") {
		digits = number[1:]
	}
	end := len(number) - len(strings.TrimLeft(digits, "0123456789"))
	n, err := strconv.ParseInt(number[:end], 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, invalid(what, s)
	}
	// The C library reports an overflow without looking at what follows the digits. util-linux does the same with a
	// sign that is not allowed.
	if err != nil || n < 0 && min >= 0 {
		return 0, invalid(what, s, sys.ErrRange)
	}
	if end < len(number) {
		return 0, invalid(what, s)
	}
	if n < min || n > max {
		return 0, invalid(what, s, sys.ErrRange)
	}
	return int(n), nil
}

// parseDescriptor reads a descriptor number. It accepts negative ones: the caller reports them.
func parseDescriptor(s string) (int, error) {
	return parseInt(s, math.MinInt32, math.MaxInt32, "invalid file descriptor")
}

// parseSize reads a number of bytes as util-linux does: decimal, 0x or 0 for octal. It may have a suffix K M G T P E Z
// Y (powers of 1024; KiB is the same; KB is 1000), and before a suffix a fraction. A number that exceeds an int64
// becomes negative, and the lock call refuses it.
func parseSize(s, what string) (int64, error) {
	size, err := sizeOf(strings.TrimLeft(s, blanks))
	if err != nil {
		return 0, invalid(what, s, err)
	}
	return int64(size), nil
}

func sizeOf(number string) (uint64, error) {
	whole, rest := cutInteger(strings.TrimPrefix(number, "+"))
	size, err := strconv.ParseUint(whole, 0, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, sys.ErrRange
	} else if err != nil {
		return 0, sys.ErrInvalid
	}
	if rest == "" {
		return size, nil
	}
	var fraction string
	for strings.HasPrefix(rest, ".") && strings.Trim(fraction, "0") == "" { // 1..5K is 1.5K
		end := len(rest) - len(strings.TrimLeft(rest[1:], decimalDigits))
		fraction, rest = fraction+rest[1:end], rest[end:]
	}
	power, base, ok := sizeSuffix(rest)
	if !ok {
		return 0, sys.ErrInvalid
	}
	unit := uint64(1)
	for range power {
		if size > math.MaxUint64/base {
			return 0, sys.ErrRange
		}
		size *= base
		if unit <= math.MaxUint64/base {
			unit *= base
		}
	}
	part, err := sizeFraction(fraction, unit)
	return size + part, err
}

const decimalDigits = "0123456789"

// cutInteger cuts a number after the digits that strtoumax(3) reads.
func cutInteger(number string) (integer, rest string) {
	digits, prefix := decimalDigits, ""
	if len(number) > 2 && (number[:2] == "0x" || number[:2] == "0X") && strings.IndexByte(hexDigits, number[2]) >= 0 {
		digits, prefix = hexDigits, number[:2]
	} else if strings.HasPrefix(number, "0") {
		digits = "01234567"
	}
	rest = strings.TrimLeft(number[len(prefix):], digits)
	return number[:len(number)-len(rest)], rest
}

const hexDigits = decimalDigits + "abcdefABCDEF"

// sizeSuffix returns the meaning of a suffix: base to the power.
func sizeSuffix(suffix string) (power int, base uint64, ok bool) {
	if suffix == "" {
		return 0, 0, false
	}
	power = 1 + strings.IndexByte("KMGTPEZY", strings.ToUpper(suffix)[0])
	switch suffix[1:] {
	case "", "iB", "ib":
		return power, 1024, power > 0
	case "B", "b":
		return power, 1000, power > 0
	}
	return 0, 0, false
}

// sizeFraction returns how much of unit the digits after the point are. All contenders must lock the same bytes, so it
// rounds as util-linux does: a digit d at place n adds unit / (10^n / d), in integers. So .7K is the same as 1K. And
// .10 is the same as 1: its place is 10, not 100, because 10 is not less than 10.
func sizeFraction(digits string, unit uint64) (size uint64, err error) {
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return 0, nil
	}
	fraction, err := strconv.ParseUint(significant, 10, 64)
	if err != nil {
		return 0, sys.ErrRange
	}
	place := uint64(10)
	for place < fraction {
		if place > math.MaxUint64/10 {
			fraction /= 10
		} else {
			place *= 10
		}
	}
	for range len(digits) - len(significant) {
		if place > math.MaxUint64/10 {
			return 0, nil
		}
		place *= 10
	}
	for ; fraction > 0; fraction, place = fraction/10, place/10 {
		if d := fraction % 10; d > 0 && place >= d {
			size += unit / (place / d)
		}
	}
	return size, nil
}
