package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// The numbers on the command line, read as the C library's strtod(3) and
// strtol(3) read them: blanks and a sign may stand in front, nothing behind.

const blanks = " \t\n\v\f\r"

// invalid is the usage error for a number that is none, or, with a reason why,
// not an acceptable one.
func invalid(what, s string, why ...error) error {
	text := what + ": '" + s + "'"
	for _, e := range why {
		text += ": " + reason(e)
	}
	return &usageError{text: text}
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
	if exceedsLongDouble(number) {
		return 0, invalid(what, s, errRange)
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

// exceedsLongDouble reports whether a number with an exponent is too large or
// too small for a long double of x86: 1e5000 is an error, and not infinite.
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
	// The C library tells of an overflow before anybody looks at what follows
	// the digits, and so does util-linux of a sign where none may be.
	if err != nil || n < 0 && min >= 0 {
		return 0, invalid(what, s, errRange)
	}
	if end < len(number) {
		return 0, invalid(what, s)
	}
	if n < min || n > max {
		return 0, invalid(what, s, errRange)
	}
	return int(n), nil
}

// parseDescriptor reads a descriptor number. A negative one is no error yet.
func parseDescriptor(s string) (int, error) {
	return parseInt(s, math.MinInt32, math.MaxInt32, "invalid file descriptor")
}

// parseSize reads a number of bytes as util-linux does: decimal, 0x or 0 for
// octal, with a suffix K M G T P E Z Y (powers of 1024; KiB too; KB is 1000),
// then also with a fraction. What exceeds an int64 comes out negative, for the
// lock call to refuse.
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
		return 0, errRange
	} else if err != nil {
		return 0, errInvalid
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
		return 0, errInvalid
	}
	unit := uint64(1)
	for range power {
		if size > math.MaxUint64/base {
			return 0, errRange
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

// cutInteger cuts a number after the digits that strtoumax(3) takes.
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

// sizeSuffix returns what a suffix stands for.
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

// sizeFraction returns what the digits after the point are of unit. As all
// contenders must lock the same bytes, it rounds as util-linux does: a digit d
// at the place n stands for one part in 10^n/d, in integers. So .7K is as much
// as 1K; and .10 is as much as 1, because 10 is not below 10.
func sizeFraction(digits string, unit uint64) (size uint64, err error) {
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return 0, nil
	}
	fraction, err := strconv.ParseUint(significant, 10, 64)
	if err != nil {
		return 0, errRange
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
